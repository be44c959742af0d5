//! Semantics of instructions other than calls.

pub(super) mod alu;
pub(super) mod jump;
pub(super) mod memory;
