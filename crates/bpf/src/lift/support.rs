//! What is supported, as a document.

pub(super) mod guarantees;
pub(super) mod matrix;
