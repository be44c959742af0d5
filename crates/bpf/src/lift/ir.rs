//! Construction of an IR program: operations, registers, regions, inputs, and the prologue.

pub(super) mod builder;
pub(super) mod emit;
pub(super) mod start;
