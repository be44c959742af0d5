//! Computes the possible values of registers at each program point, by a forward data-flow analysis
//! without a solver.
//!
//! A [`Domain`] describes a set of values by known bits, an unsigned and a signed interval. On the
//! edges of a branch, the analysis refines all values from which the condition was computed, and
//! all values that were computed from them. Registers and bytes of memory with the same value are
//! refined together. The analysis does not follow edges whose condition is always false, so dead
//! code has no values.
//!
//! The kernel's verifier (`kernel/bpf/verifier.c`) tracks scalars in the same way, with two
//! differences. This analysis joins paths that meet, while the verifier follows each path
//! separately. It ends loops by widening, while the verifier executes them. This crate does not
//! depend on an instruction set or a device.
//!
//! Cost: a visit of a block takes time linear in the number of its operations, plus a small
//! multiple of this for a branch. A block is visited again when a value at the head of an enclosing
//! loop grows. Each bound there grows at most a fixed number of times, so blocks × loop heads ×
//! values bounds the total. In practice, each block is visited a few times.

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
