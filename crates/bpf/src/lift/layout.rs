//! Memory layout of a lifted program, and the conversion of memory content back to map elements.

pub(super) mod elements;
pub(super) mod memory;
