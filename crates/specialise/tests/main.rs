//! Tests of rewritten programs. All of them are in one binary, so that it is linked only once.

mod fuse;
mod random_programs;
