//! Generates the tables of supported helpers and maps for the documentation.

pub(super) mod guarantees;
pub(super) mod matrix;
