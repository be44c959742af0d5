//! Terms and solvers: all tests as one program, which links once.

mod common;

mod extremes;
mod hashes;
mod semantics;
#[cfg(all(feature = "proof", feature = "z3"))]
mod z3_agreement;
