//! Tests of value ranges, combined in one binary so that they link only once.

mod support;

mod concrete_runs;
mod iteration_bounds;
mod loops;
mod memory;
mod random_programs;
mod refinement;
