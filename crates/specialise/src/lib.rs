//! Rewriting of BPF programs with the help of facts about the packets that they receive.
//!
//! [`specialise`] takes a linked program and facts about its packets. It returns a program with the
//! same effect on these packets but less work: checks that earlier programs have already done are
//! removed. This crate does not prove that both programs agree; translation validation proves it
//! separately. The kernel's verifier must accept the result too, so the passes keep instructions
//! that the verifier learns from, such as bounds checks.
//!
//! From the bottom up: `graph` represents the program as basic blocks, `analysis` computes facts at
//! each program point, `passes` holds one rewriting per file, and `pipeline` runs the passes in
//! order.
//!
//! After Krude, Eichholz, Winck, Wehrle and Mezini, "Optimizing Data Plane Programs for the
//! Network" (NetPL 2019), "Optimization". [`fuse`] combines several programs that run one after the
//! other into one program.

mod analysis;
mod effect;
mod error;
#[doc(hidden)]
#[cfg(feature = "faults")]
pub mod fault;
#[cfg(not(feature = "faults"))]
mod fault;
pub mod flow;
mod frozen;
pub mod fuse;
mod graph;
mod guard;
mod helpers;
mod iterations;
mod passes;
mod pipeline;
mod results;
mod writers;

#[cfg(test)]
#[path = "../tests/support/assemble.rs"]
mod assemble;
#[cfg(test)]
mod support;

pub use error::SpecialiseError;
pub use frozen::{Frozen, FrozenMap};
pub use guard::Comparison;
pub use iterations::IterationBounds;
pub use passes::Change;
pub use pipeline::{ChangeRecord, Facts, Guard, Mode, Specialised, specialise, specialise_for};
pub use results::KnownResult;
pub use writers::writer;
