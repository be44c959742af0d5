//! Analyses a program before code is generated. The kernel's verifier finds some of the facts and
//! passes them to the driver; the driver derives the other facts itself.

pub(super) mod adjust_head;
pub(super) mod bounds;
pub(super) mod frames;
pub(super) mod zero_extension;
