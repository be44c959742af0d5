//! Describes sets of bit-vectors of 1 to 64 bits by their known bits and by an unsigned and a
//! signed interval. Transfer functions compute the possible results of an operator of the
//! intermediate representation for operands in these sets.
//!
//! The simplification of terms in `slowpath-smt` and the range analysis in `slowpath-ranges` use
//! this crate. It depends on neither terms nor programs.

mod domain;
pub mod transfer;

pub use domain::{Domain, mask, sign_extend};
