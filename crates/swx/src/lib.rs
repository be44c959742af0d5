//! Pipelines of DPDK's software switch (SWX), as release 22.11 reads them from `.spec` files.
//!
//! [`parse()`] reads a file as a [`spec::Spec`], [`print()`] writes a pipeline, and [`lift()`]
//! translates it to the intermediate representation. [`interpret`] executes a pipeline on a packet.

pub mod code;
mod error;
pub mod interpret;
mod lift;
mod parse;
mod print;
pub mod replay;
mod resolve;
pub mod spec;

pub use error::SpecError;
pub use lift::{Layout, LiftOptions, Lifted, Work, lift};
pub use parse::{is_pipeline, parse};
pub use print::{print, print_with_origins};
pub use resolve::resolve;
