//! Execution, symbolic and concrete: all tests as one program, which links once.

mod straight;

mod agreement;
mod common_start;
mod concrete;
mod facts;
mod map_values;
mod paths;
