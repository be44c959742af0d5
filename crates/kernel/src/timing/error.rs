//! Errors of timing.

use std::io;

use thiserror::Error;

use crate::error::{LinkError, NamespaceError, RunError};
use crate::generated::GeneratedError;
use crate::retry::Interruptible;

/// A failure to time runs.
#[derive(Debug, Error)]
pub enum TimingError {
    /// The private network namespace cannot be created.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program cannot be attached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel does not run the program on the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A generated program cannot be loaded or connected with another.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// A generated program would be too long.
    #[error("there is too much {work} between two runs")]
    CodeTooLong {
        /// The excess work, as an infinitive such as "to undo".
        work: &'static str,
    },
    /// The program lacks a map that is to be restored.
    #[error("the program has no such map to restore")]
    NoMap,
    /// The changes of a run could not be undone before the next run.
    #[error("what runs change could not be taken back {failures} times")]
    NotRestored {
        /// Number of failed restorations.
        failures: u64,
    },
    /// The timing thread cannot be started.
    #[error("no thread starts for the measurement: {cause}")]
    Thread {
        /// The system's error.
        cause: io::Error,
    },
    /// The caller stopped waiting for the job.
    #[error("interrupted before it was done")]
    Cancelled,
    /// The timing thread has ended.
    #[error("the thread of the measurement has ended")]
    Gone,
}

impl Interruptible for TimingError {
    fn is_interrupted(&self) -> bool {
        matches!(self, TimingError::Run(fault) if fault.is_interrupted())
    }
}
