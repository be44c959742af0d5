//! All tests of the crate in one binary, so that the linker runs once.

mod common;

mod hashes;
mod overflow;
mod semantics;
#[cfg(all(feature = "proof", feature = "z3"))]
mod z3_agreement;
