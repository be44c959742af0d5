//! Defines abstract values and abstract states, which describe the knowledge about registers and
//! memory while a program is lifted.

pub(super) mod abstract_state;
pub(super) mod accessed;
pub(super) mod frame_bytes;
pub(super) mod origin;
#[cfg(test)]
mod tests;
pub(super) mod value;
