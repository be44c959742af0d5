//! Finds the slowest path that some packet takes through a program. At any time during the search,
//! a valid bound on all paths is known.
//!
//! The search unrolls a program into a directed acyclic graph and prices it exactly with a cost
//! automaton. It then searches for the longest path that no nogood excludes. The search does not
//! depend on an instruction set or device: programs are given as IR, prices as a
//! [`slowpath_target::CostModel`].
//!
//! After Krude et al., "Determination of Throughput Guarantees for Processor-based SmartNICs",
//! CoNEXT 2021, § 5. The paper enumerates paths, slowest first, until one is satisfiable. Here,
//! each unsatisfiable path also excludes all paths that are unsatisfiable for the same reason.

pub mod brute_force;
mod certify;
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

pub use certify::{Certification, certificate_graph, certify};
pub use check::{PathCheck, PathChecker};
pub use costs::{CostGraph, Scratch};
pub use dag::{Arc, Dag, DagNode, Head};
pub use error::SearchError;
pub use found_path::FoundPath;
pub use gates::{Gate, Gated};
pub use nogood::{ANY_LENGTH, Nogood, Nogoods};
pub use options::{InputEnumeration, SearchOptions};
pub use search::{Bound, Event, Metric, Search, Statistics};
pub use slowpath_certificate::BoundClaim;
pub use structural::{instructions_bound, structural_bound};
pub use unroll::{StatedLimit, UnrollLimits, Unrolled, stated_limits, unroll, unroll_from};
