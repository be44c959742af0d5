//! Meaning of instructions that are no calls.

pub(super) mod alu;
pub(super) mod jump;
pub(super) mod memory;
