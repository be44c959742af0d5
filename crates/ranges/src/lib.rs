//! What values registers can have at each point of a program: a forward analysis without a solver.
//!
//! Values are described by [`Domain`]: known bits, an unsigned and a signed interval. On the edges
//! of a branch everything that the condition was computed from is refined, and with it what was
//! computed from that; registers and bytes of memory with the same value are refined together.
//! Edges whose condition is refuted are not taken, so that dead code has no values.
//!
//! This is what the kernel's verifier (`kernel/bpf/verifier.c`) knows about scalars, with two
//! differences: paths that meet are joined, where the verifier follows each on its own, and loops
//! end by widening, where it executes them. This crate knows no instruction set and no device.
//!
//! Cost: a visit of a block is linear in its operations, for a branch times a small constant; a
//! block is visited again when a value at the head of a loop around it grows. A bound there grows
//! at most a fixed number of times, so that the whole is bounded by blocks × loop heads × values.
//! In practice blocks are visited a handful of times.

mod entry;
mod evaluate;
mod fixpoint;
mod graph;
mod loops;
mod memory;
mod options;
mod ranges;
mod refine;
mod rounds;
mod state;
mod transfer;
mod value;
mod value_number;

pub use options::{MemoryModel, Options};
pub use ranges::{Ranges, analyze, analyze_until, analyze_with};
pub use rounds::rounds;
pub use slowpath_domain::Domain;
pub use state::AbstractState;
pub use value::{Origin, Value};
