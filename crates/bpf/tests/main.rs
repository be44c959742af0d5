//! All integration tests of the crate as one program, so that it is linked once.

mod damaged;
mod instructions;
mod support;
mod write;
