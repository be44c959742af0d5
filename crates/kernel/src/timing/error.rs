//! Errors of timing programs.

use slowpath_codes as codes;
use std::io;

use thiserror::Error;

use crate::error::{LinkError, NamespaceError, RunError};
use crate::generated::GeneratedError;
use crate::retry::Interruptible;

/// An error that prevents a program from being timed.
#[derive(Debug, Error)]
pub enum TimingError {
    /// The private network namespace could not be created.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program could not be attached to a device.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel did not run the program on the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A generated program could not be loaded or connected with another one.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// A generated program would have to execute too much code between two runs of the timed
    /// program.
    #[error("there is too much {work} between two runs")]
    CodeTooLong {
        /// End of the phrase "too much …" in the error message, such as "to undo".
        work: &'static str,
    },
    /// The program lacks a map whose elements should be restored.
    #[error("the program has no such map to restore")]
    NoMap,
    /// Changes of a run could not be undone before the next run.
    #[error("changes of a run could not be undone {failures} times")]
    NotRestored {
        /// Number of times that changes could not be undone.
        failures: u64,
    },
    /// The timing thread could not be started.
    #[error("the thread for the measurement does not start: {cause}")]
    Thread {
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The caller stopped waiting before the job was done.
    #[error("interrupted before it was done")]
    Cancelled,
    /// The timing thread has ended.
    #[error("the thread of the measurement has ended")]
    Gone,
}

impl TimingError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            TimingError::Namespace(error) => error.code(),
            TimingError::Link(error) => error.code(),
            TimingError::Run(error) => error.code(),
            TimingError::Generated(error) => error.code(),
            TimingError::CodeTooLong { .. } | TimingError::NotRestored { .. } => {
                codes::PATH_NOT_REPEATABLE
            }
            TimingError::NoMap | TimingError::Gone => codes::INTERNAL_ERROR,
            TimingError::Thread { .. } => codes::SYSTEM_RESOURCES,
            TimingError::Cancelled => codes::INTERRUPTED,
        }
    }
}

impl Interruptible for TimingError {
    fn is_interrupted(&self) -> bool {
        matches!(self, TimingError::Run(fault) if fault.is_interrupted())
    }
}
