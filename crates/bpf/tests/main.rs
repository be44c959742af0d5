//! Contains all integration tests of the crate in one program, so that they are linked only once.

mod damaged;
mod instructions;
mod support;
mod write;
