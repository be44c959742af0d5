//! Rehearsals: all tests as one program, which links once.

mod random_programs;
mod rehearsals;
