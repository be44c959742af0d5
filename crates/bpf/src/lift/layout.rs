//! Describes the memory layout of a lifted program, and converts memory content back to map
//! elements.

pub(super) mod elements;
pub(super) mod memory;
