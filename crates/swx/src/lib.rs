//! Pipelines of DPDK's software switch (SWX), as its release 22.11 reads them from `.spec` files.
//!
//! [`parse()`] reads a file as a [`spec::Spec`], [`print()`] writes one, and [`lift()`] translates one
//! to the intermediate representation.

pub mod code;
mod error;
mod lift;
mod parse;
mod print;
mod resolve;
pub mod spec;

pub use error::SpecError;
pub use lift::{LiftOptions, Lifted, lift};
pub use parse::{is_pipeline, parse};
pub use print::print;
pub use resolve::resolve;
