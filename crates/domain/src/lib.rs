//! Sets of bit-vectors of 1 to 64 bits, as far as bits and bounds can describe them, and how the
//! operators of the intermediate representation act on them.
//!
//! One abstract domain for everything that reasons without a solver: the terms of `slowpath-smt`
//! and the range analysis of `slowpath-ranges`. This crate knows neither terms nor programs.

mod domain;
pub mod transfer;

pub use domain::{Domain, mask, sign_extend};
