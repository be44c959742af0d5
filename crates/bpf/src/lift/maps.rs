//! Maps: which memory they are, and what calls do to it.
//!
//! From the bottom: [`class`] is the table of types; [`operand`] the map of a call; [`cells`] and
//! [`elements`] numbers and elements in memory; [`population`], [`storage`], [`eviction`] and
//! [`existence`] what becomes of elements in a run, [`iteration`] rounds over all of them;
//! [`prefixes`] and [`trie`] look-ups of longest prefixes, [`trie_changes`] updates of tries;
//! [`regions`] sets up the memory of a map, [`install`] fills in what is known of its content,
//! [`stated`] values of variables. [`uses`] notes how a program uses its maps, which decides what is
//! tracked of them ([`tracking`]).

pub(super) mod cells;
pub(super) mod class;
pub(super) mod compared;
pub(super) mod elements;
pub(super) mod eviction;
pub(super) mod existence;
pub(super) mod heaviest_path;
pub(super) mod install;
pub(super) mod iteration;
pub(super) mod locks;
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
