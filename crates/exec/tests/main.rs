//! Tests of symbolic and concrete execution, combined in one binary so that they link only once.

mod straight;

mod agreement;
mod common_start;
mod concrete;
mod facts;
mod map_values;
mod paths;
