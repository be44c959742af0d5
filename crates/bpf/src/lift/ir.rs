//! Building the parts of an IR program: operations, registers, regions, inputs, and what holds before
//! the first instruction.

pub(super) mod builder;
pub(super) mod emit;
pub(super) mod start;
