//! BPF object files and their meaning: all tests as one program, which links once.

mod damaged;
mod instructions;
mod support;
mod write;
