//! Tests of value ranges, combined in one binary so that they link only once.

mod support;

mod concrete_runs;
mod loops;
mod memory;
mod random_programs;
mod refinement;
mod rounds;
