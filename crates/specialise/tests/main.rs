//! Tests of rewritten programs, combined in one binary so that they link only once.

mod fuse;
mod random_programs;
