//! Ranges of values: all tests as one program, which links once.

mod support;

mod concrete_runs;
mod loops;
mod memory;
mod random_programs;
mod refinement;
mod rounds;
