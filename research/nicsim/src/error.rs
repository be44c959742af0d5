//! Errors in descriptions of devices or functions, or in scenarios.

use thiserror::Error;

/// An error that prevents a simulation.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NicError {
    /// A description of a device or of functions that is not TOML or has unknown fields.
    #[error("{name}: {reason}")]
    Unreadable {
        /// Name of the description, for error messages.
        name: String,
        /// Message of the TOML parser.
        reason: String,
    },
    /// A value that is out of range or contradicts another value.
    #[error("{place}: {reason}")]
    Impossible {
        /// Location of the value in the description or scenario.
        place: String,
        /// Problem, and range of valid values.
        reason: String,
    },
    /// A name of a function, region or accelerator that does not exist.
    #[error("{place}: there is no {what} {name:?}; there are {known}")]
    Unknown {
        /// Location of the name in the description or scenario.
        place: String,
        /// Kind of the missing object, such as `function`.
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
