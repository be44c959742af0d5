//! All tests of the crate in one binary, so that the linker runs once.

mod common;
mod structured;

mod brute_force;
mod costs;
mod examples;
mod inputs;
mod path_explosion;
mod regressions;
mod structural;
mod structured_programs;
mod unrolling;
