//! Memory layout of a lifted program: the position of everything, and the conversion of bytes back
//! to maps with keys and values.

pub(super) mod elements;
pub(super) mod memory;
