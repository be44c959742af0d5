//! BPF programs rewritten for what is known of their packets.
//!
//! [`specialise`] takes a linked program and facts about the packets that arrive at it, and gives a
//! program that does the same for these packets, with less: what earlier programs have checked
//! already is not checked again. Whether it really does the same is for others to prove; nothing here
//! has to be trusted for that. The kernel's verifier has to accept the result as well, so that passes
//! keep what it learns from, such as bounds checks.
//!
//! From the bottom: `graph` is the program as blocks, `analysis` what is known at each of its
//! points, `passes` are the rewritings, one file each, and `pipeline` puts them in order.
//!
//! After Krude, Eichholz, Winck, Wehrle and Mezini, "Optimizing Data Plane Programs for the Network"
//! (NetPL 2019), "Optimization". [`fuse`] makes one program of several that run one behind the other.

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
mod passes;
mod pipeline;
mod results;
mod rounds;
mod writers;

#[cfg(test)]
#[path = "../tests/support/assemble.rs"]
mod assemble;
#[cfg(test)]
mod support;

pub use error::SpecialiseError;
pub use frozen::{Frozen, FrozenMap};
pub use guard::Comparison;
pub use passes::Change;
pub use pipeline::{Dropped, Guard, Known, Mode, Specialised, specialise, specialise_for};
pub use results::Returned;
pub use rounds::Rounds;
pub use writers::writer;
