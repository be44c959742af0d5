//! Documentation of what the lifter supports.

pub(super) mod guarantees;
pub(super) mod matrix;
