//! Errors in the description of a chain. Each message has one line and names the place, the error
//! and a remedy.

use thiserror::Error;

/// Reason why a description is not a valid chain, or why its objects cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// An error at a line of the description, counted from 1.
    #[error("line {line}: {what}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The error, and its remedy.
        what: String,
    },
    /// An error that concerns the whole description.
    #[error("{0}")]
    Whole(String),
}

impl ChainError {
    pub(crate) fn at(line: u64, what: impl Into<String>) -> Self {
        ChainError::Line { line, what: what.into() }
    }
}
