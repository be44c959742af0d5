//! What the code generator has to know of a program before it emits anything: what the kernel's
//! verifier tells the driver, and what the driver finds out for itself.

pub(super) mod adjust_head;
pub(super) mod bounds;
pub(super) mod frames;
pub(super) mod zero_extension;
