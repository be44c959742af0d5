//! Walks over a program: they select blocks and compute the abstract state at their start.
//!
//! [`fixpoint`] creates the lifted program, with one state for each block. [`explore`] follows
//! single paths, as the kernel's verifier does, and creates no blocks. Both use only
//! [`super::block`].

pub(super) mod explore;
pub(super) mod fixpoint;
pub(super) mod incoming;
mod order;
pub(super) mod unreachable;
