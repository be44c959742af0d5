//! What the memory of a lifted program means: where things are, and from bytes back to maps with keys
//! and values.

pub(super) mod elements;
pub(super) mod memory;
