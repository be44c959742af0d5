//! Sets of values: all tests as one program, which links once.

mod precision;
mod random_values;
