//! Contains all integration tests of the intermediate representation in one program, so that they
//! are linked only once.

mod common;

mod flow;
mod program;
mod random_graphs;
