//! Execution of the IR: symbolic, for all paths at once and along one path; and, sharing no code
//! with it, concrete.
//!
//! Knows terms and their meaning, but no costs, no devices and no search order. The unrolled graph
//! belongs to the caller, who names its points and arcs.

pub mod concrete;
mod error;
mod facts;
mod inspect;
mod load;
mod locate;
mod machine;
mod memory;
mod resolve;
mod start;
mod written;

pub use error::ExecError;
pub use facts::{Contradiction, Facts, Reasons};
pub use inspect::{Stored, Varying};
pub use machine::{ArcId, Machine, PointId, State};
pub use memory::{Location, MemId};
pub use resolve::Resolver;
pub use start::{InitialByte, Start};
