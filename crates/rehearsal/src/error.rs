//! Why nothing is known of two programs. Each error is one line.

use std::io;

use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{InstallError, Interruptible, LoadError, MapError, RunError, WireError};
use thiserror::Error;

use crate::options::Place;

/// Why programs are not rehearsed.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The kernel does not load a program; of one that was rewritten, its verifier may not find what
    /// it found in the original.
    #[error("{place}: {cause}")]
    Load {
        /// Which one.
        place: Place,
        /// What the kernel says.
        cause: Box<LoadError>,
    },
    /// Maps are not filled.
    #[error("{place}: {cause}")]
    Install {
        /// Of which program.
        place: Place,
        /// What the kernel says.
        cause: Box<InstallError>,
    },
    /// A map is not read.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not run a packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Frames do not reach the programs on a device.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Runs are not timed.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The empty program that others are compared with is not loaded.
    #[error(transparent)]
    Frame {
        /// What the kernel says.
        cause: Box<LoadError>,
    },
    /// There is no thread to work on.
    #[error("no thread starts for the rehearsal: {cause}")]
    Thread {
        /// The system's answer.
        cause: io::Error,
    },
    /// The thread has ended before it was done.
    #[error("the thread of the rehearsal ended before it was done; please report it")]
    Ended,
}

impl Interruptible for RehearsalError {
    fn is_interrupted(&self) -> bool {
        match self {
            RehearsalError::Run(fault) => fault.is_interrupted(),
            RehearsalError::Timing(fault) => fault.is_interrupted(),
            _ => false,
        }
    }
}
