//! Pipelines of DPDK's software switch (SWX), as its release 22.11 reads them from `.spec` files.
//!
//! [`parse`] reads a file as a [`spec::Spec`], and [`print`] writes one.

mod error;
mod parse;
mod print;
pub mod spec;

pub use error::SpecError;
pub use parse::parse;
pub use print::print;
