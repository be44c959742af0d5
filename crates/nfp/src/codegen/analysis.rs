//! Analyses before code generation: facts that the kernel's verifier passes to the driver, and
//! facts that the driver derives itself.

pub(super) mod adjust_head;
pub(super) mod bounds;
pub(super) mod frames;
pub(super) mod zero_extension;
