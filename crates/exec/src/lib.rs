//! Executes programs in the IR: symbolically, on all paths at once or along one path, and
//! concretely, with one packet. The concrete execution shares no code with the symbolic one, so it
//! can check its results.
//!
//! This crate knows terms and their meaning, but no costs, devices or search order. The caller owns
//! the unrolled graph and numbers its nodes and arcs.

mod alias;
mod all_paths;
pub mod concrete;
mod error;
mod executor;
mod facts;
mod footprint;
mod index;
mod inspect;
mod load;
mod locate;
mod memory;
mod read;
mod resolve;
mod start;

pub use all_paths::AllPaths;
pub use error::ExecError;
pub use executor::{Executor, SymbolicState};
pub use facts::{Contradiction, Facts, Reasons};
pub use index::{ArcId, NodeId};
pub use inspect::{Stored, Varying, Written};
pub use memory::{Location, MemId};
pub use resolve::Resolver;
pub use start::{InitialByte, Start};
