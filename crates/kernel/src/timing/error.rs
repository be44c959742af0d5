//! Why nothing is timed.

use std::io;

use thiserror::Error;

use crate::again::Interruptible;
use crate::error::{LinkError, NamespaceError, RunError};
use crate::generated::GeneratedError;

/// Why runs are not timed.
#[derive(Debug, Error)]
pub enum TimingError {
    /// There is no network namespace to work in.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program is not attached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel does not run the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A program that is written here does not do what it should.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// A generated program would be too long.
    #[error("there is too much {what} between two runs")]
    TooMuch {
        /// Of what.
        what: &'static str,
    },
    /// A map is to be restored that the program has not.
    #[error("the program has no such map to restore")]
    NoMap,
    /// What a run changed could not be taken back before the next one.
    #[error("what runs change could not be taken back {failures} times")]
    NotRestored {
        /// How often.
        failures: u64,
    },
    /// There is no thread to work on.
    #[error("no thread starts for the measurement: {cause}")]
    Thread {
        /// The system's answer.
        cause: io::Error,
    },
    /// Nobody waits for it any more.
    #[error("interrupted before it was done")]
    NotAwaited,
    /// The thread has ended.
    #[error("the thread of the measurement has ended")]
    Gone,
}

impl Interruptible for TimingError {
    fn is_interrupted(&self) -> bool {
        matches!(self, TimingError::Run(fault) if fault.is_interrupted())
    }
}
