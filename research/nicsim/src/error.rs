//! Errors in a description or a scenario.

use thiserror::Error;

/// An error that prevents a simulation.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NicError {
    /// A description that is not TOML or has unknown fields.
    #[error("{name}: {reason}")]
    Unreadable {
        /// Name of the description.
        name: String,
        /// Message of the parser.
        reason: String,
    },
    /// A value out of range.
    #[error("{place}: {reason}")]
    Impossible {
        /// Location of the value.
        place: String,
        /// Problem, and range of valid values.
        reason: String,
    },
    /// An unknown name.
    #[error("{place}: there is no {what} {name:?}; there are {known}")]
    Unknown {
        /// Location of the name.
        place: String,
        /// Kind of the named object.
        what: &'static str,
        /// Unknown name.
        name: String,
        /// All known names.
        known: String,
    },
}

impl NicError {
    pub(crate) fn impossible(place: impl Into<String>, reason: impl Into<String>) -> Self {
        NicError::Impossible { place: place.into(), reason: reason.into() }
    }
}
