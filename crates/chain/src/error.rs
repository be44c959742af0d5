//! What is wrong with a chain: one line that says where, and what to do.

use thiserror::Error;

/// Why a description is no chain, or its objects cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// At a line of the description, counted from 1.
    #[error("line {line}: {what}")]
    Line {
        /// The line.
        line: u64,
        /// What is wrong there, and what to do.
        what: String,
    },
    /// In the whole of it.
    #[error("{0}")]
    Whole(String),
}

impl ChainError {
    pub(crate) fn at(line: u64, what: impl Into<String>) -> Self {
        ChainError::Line { line, what: what.into() }
    }
}
