//! Why nothing is timed.

use std::io;

use thiserror::Error;

use crate::error::{LinkError, NamespaceError, RunError};

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
    /// The kernel does not take what is generated here.
    #[error("the kernel refuses {what} that timing needs: {cause}")]
    Generated {
        /// Of what kind it is.
        what: &'static str,
        /// The kernel's answer.
        cause: io::Error,
    },
    /// The kernel does not let the program be called.
    #[error("the kernel does not let the program be called by another one: {cause}")]
    Selected {
        /// The kernel's answer.
        cause: io::Error,
    },
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
    /// The thread has ended.
    #[error("the thread of the measurement has ended")]
    Gone,
}
