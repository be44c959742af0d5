//! Walks over a program: which blocks there are, and what is known where they begin.
//!
//! [`fixpoint`] makes the lifted program: one state for each block. [`explore`] follows single paths, as
//! the kernel's verifier does, and makes no blocks. Both use [`super::block`] only.

pub(super) mod explore;
pub(super) mod fixpoint;
pub(super) mod incoming;
mod order;
pub(super) mod reach;
