//! The slowest satisfiable path of a program, with bounds that are valid at any time.
//!
//! Unrolls a program into a directed acyclic graph, prices it exactly with a cost automaton, and
//! searches for the longest path that no nogood excludes. Knows no instruction set and no device:
//! programs come as IR, prices as a [`slowpath_target::CostModel`].
//!
//! After Krude et al., "Determination of Throughput Guarantees for Processor-based SmartNICs",
//! CoNEXT 2021, § 5, but searching the other way round: where the paper enumerates paths until one
//! is satisfiable, every impossible path here excludes all paths that are impossible for the same
//! reason.

pub mod brute;
mod check;
mod costs;
mod dag;
mod enumerate;
mod error;
mod fold;
mod found_path;
mod gates;
mod inputs;
mod nogood;
mod options;
mod relax;
mod search;
mod structural;
mod subproblem;
mod unroll;

pub use check::{PathCheck, PathChecker};
pub use costs::{CostGraph, Scratch};
pub use dag::{Arc, Dag, DagNode, Head};
pub use error::SearchError;
pub use found_path::FoundPath;
pub use gates::{Gate, Gated};
pub use nogood::{ANY_LENGTH, Nogood, Nogoods};
pub use options::{InputEnumeration, SearchOptions};
pub use search::{Bound, Event, Metric, Search, Statistics};
pub use structural::{instructions_bound, structural_bound};
pub use unroll::{StatedLimit, UnrollLimits, Unrolled, stated_limits, unroll, unroll_from};
