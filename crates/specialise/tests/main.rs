//! Rewritten programs: all tests as one program, which links once.

mod fuse;
mod random_programs;
