//! Contains all integration tests of random programs in one test binary, so that they are linked
//! only once.

mod common;

mod coverage;
mod programs;
mod sequences;
mod shrinking;
