//! Analyses a program before code is generated. Some of the facts are found by the kernel's
//! verifier, which passes them to the driver; the driver derives the others itself.

pub(super) mod adjust_head;
pub(super) mod bounds;
pub(super) mod frames;
pub(super) mod zero_extension;
