//! Builds an IR program: operations, registers, regions, inputs, and the operations before the
//! first instruction (the prologue).

pub(super) mod builder;
pub(super) mod emit;
pub(super) mod start;
