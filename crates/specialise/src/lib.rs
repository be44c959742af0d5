//! Rewrites BPF programs for packets about which facts are known.
//!
//! [`specialise`] takes a linked program and facts about its packets. It returns a program that
//! does the same for these packets with less work: for example, checks that earlier programs have
//! already made are removed. This crate does not prove that both programs do the same; translation
//! validation does this separately. The kernel's verifier has to accept the result, so the passes
//! keep instructions that the verifier needs, such as bounds checks.
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
