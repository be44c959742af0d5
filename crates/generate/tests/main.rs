//! Random programs: all tests as one program, which links once.

mod common;

mod coverage;
mod programs;
mod sequences;
mod shrinking;
