//! The intermediate representation: all tests as one program, which links once.

mod common;

mod flow;
mod program;
mod random_graphs;
