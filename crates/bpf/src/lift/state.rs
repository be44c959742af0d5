//! Abstract interpretation while lifting: abstract values and abstract states.

pub(super) mod abstract_state;
pub(super) mod accessed;
pub(super) mod frame_bytes;
pub(super) mod origin;
#[cfg(test)]
mod tests;
pub(super) mod value;
