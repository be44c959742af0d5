//! Value ranges of registers at each program point: a forward data-flow analysis without a solver.
//!
//! A [`Domain`] describes a set of values by known bits, an unsigned and a signed interval. On the
//! edges of a branch, the analysis refines all values that the condition was computed from, and the
//! values computed from those. Registers and bytes of memory with the same value are refined
//! together. Edges whose condition is refuted are not taken, so dead code has no values.
//!
//! The kernel's verifier (`kernel/bpf/verifier.c`) knows the same about scalars, with two
//! differences. This analysis joins paths that meet, while the verifier follows each path
//! separately. It ends loops by widening, while the verifier executes them. This crate knows no
//! instruction set and no device.
//!
//! Cost: a visit of a block is linear in its operations, times a small constant for a branch. A
//! block is visited again when a value at the head of an enclosing loop grows. A bound there grows
//! at most a fixed number of times, so the total is bounded by blocks × loop heads × values. In
//! practice, each block is visited a handful of times.

mod entry;
mod evaluate;
mod fixpoint;
mod graph;
mod iteration_bounds;
mod loops;
mod memory;
mod options;
mod ranges;
mod refine;
mod state;
mod transfer;
mod value;
mod value_number;

pub use iteration_bounds::iteration_bounds;
pub use options::{MemoryModel, Options};
pub use ranges::{Ranges, analyze, analyze_until, analyze_with};
pub use slowpath_domain::Domain;
pub use state::AbstractState;
pub use value::{Origin, Value};
