//! All tests of the crate in one binary, so that the linker runs once.

mod precision;
mod random_values;
