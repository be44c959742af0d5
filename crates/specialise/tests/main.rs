//! Tests of rewritten programs, in one binary, so that it is linked only once.

mod fuse;
mod random_programs;
