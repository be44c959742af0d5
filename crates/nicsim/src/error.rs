//! What is wrong with a description or a run.

use thiserror::Error;

/// Why nothing is simulated.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NicError {
    /// A description that is not TOML, or has other fields.
    #[error("{name}: {reason}")]
    Unreadable {
        /// Which description.
        name: String,
        /// What the parser says.
        reason: String,
    },
    /// A number that cannot be.
    #[error("{place}: {reason}")]
    Impossible {
        /// Where it stands.
        place: String,
        /// What is wrong with it, and what is possible.
        reason: String,
    },
    /// A name that nothing has.
    #[error("{place}: there is no {what} {name:?}; there are {known}")]
    Unknown {
        /// Where it stands.
        place: String,
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
        /// All that have one.
        known: String,
    },
}

impl NicError {
    pub(crate) fn impossible(place: impl Into<String>, reason: impl Into<String>) -> Self {
        NicError::Impossible { place: place.into(), reason: reason.into() }
    }
}
