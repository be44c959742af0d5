//! An abstract domain for bit-vectors of 1 to 64 bits, which consists of known bits, an unsigned
//! and a signed interval. Transfer functions apply the operators of the intermediate representation
//! to it.
//!
//! The terms of `slowpath-smt` and the range analysis of `slowpath-ranges` share this domain. The
//! crate depends on neither terms nor programs.

mod domain;
pub mod transfer;

pub use domain::{Domain, mask, sign_extend};
