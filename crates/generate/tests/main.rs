//! Tests of random programs, in one program that is linked once.

mod common;

mod coverage;
mod programs;
mod sequences;
mod shrinking;
