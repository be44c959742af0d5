//! Tables for the documentation of supported helpers and maps.

pub(super) mod guarantees;
pub(super) mod matrix;
