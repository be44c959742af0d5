//! Walks over a program to select the blocks to lift and to compute the abstract state at their
//! start.
//!
//! [`fixpoint`] creates the lifted program, with one abstract state for each block. [`explore`]
//! follows single paths, as the kernel's verifier does, and keeps no blocks. Both lift blocks with
//! [`super::block`] only.

pub(super) mod explore;
pub(super) mod fixpoint;
pub(super) mod incoming;
mod order;
pub(super) mod unreachable;
