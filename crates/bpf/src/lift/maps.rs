//! Models maps: their memory, and the effects of calls on it.
//!
//! Submodules in ascending order:
//!
//! - [`class`]: the table of map types
//! - [`operand`]: the map of a call
//! - [`cells`], [`elements`]: numbers and elements in memory
//! - [`population`], [`storage`], [`eviction`], [`existence`]: changes of elements in a run
//! - [`iteration`]: iteration over all elements
//! - [`prefixes`], [`trie`], [`trie_changes`]: lookups of longest prefixes, updates of tries
//! - [`regions`]: creation of a map's memory
//! - [`install`], [`stated`]: initial content, values of variables
//!
//! [`uses`] records how a program uses its maps. From this, it selects the properties of the maps
//! that are tracked ([`tracking`]).

pub(super) mod cells;
pub(super) mod class;
pub(super) mod elements;
pub(super) mod eviction;
pub(super) mod existence;
pub(super) mod heaviest_path;
pub(super) mod install;
pub(super) mod iteration;
pub(super) mod locks;
pub(super) mod lookup_comparison;
pub(super) mod operand;
pub(super) mod population;
pub(super) mod prefixes;
pub(super) mod regions;
pub(super) mod stated;
pub(super) mod storage;
pub(super) mod tracking;
pub(super) mod trie;
pub(super) mod trie_changes;
pub(super) mod uses;
