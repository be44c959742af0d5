//! Errors in the description of a chain. Each message has one line and names the place, the error
//! and a remedy.

use slowpath_codes as codes;
use thiserror::Error;

/// Reason why the description of a chain is not valid, or why the objects of the chain cannot be
/// combined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    /// An error in one line of the description.
    #[error("line {line}: {what}")]
    Line {
        /// Number of the line, counted from 1.
        line: u64,
        /// The error, and a way to correct it.
        what: String,
    },
    /// An error that concerns the whole description.
    #[error("{0}")]
    Whole(String),
}

impl ChainError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            ChainError::Line { .. } | ChainError::Whole(_) => codes::CHAIN_INVALID,
        }
    }
}

impl ChainError {
    pub(crate) fn at(line: u64, what: impl Into<String>) -> Self {
        ChainError::Line { line, what: what.into() }
    }
}
