//! Contains all integration tests of value ranges in one program, so that they are linked only
//! once.

mod support;

mod concrete_runs;
mod iteration_bounds;
mod loops;
mod memory;
mod random_programs;
mod refinement;
