//! Errors that prevent a rehearsal. Each message is one line.

use slowpath_codes as codes;
use std::io;

use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{InstallError, Interruptible, LoadError, MapError, RunError, WireError};
use thiserror::Error;

use crate::options::Role;

/// An error that prevents a rehearsal.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The kernel did not load a program. For example, its verifier may accept the original program
    /// and reject the rewritten one.
    #[error("{role}: {cause}")]
    Load {
        /// The program that could not be loaded.
        role: Role,
        /// Message of the kernel, with the verifier's reason.
        cause: Box<LoadError>,
    },
    /// The maps of a program could not be filled with their initial content.
    #[error("{role}: {cause}")]
    Install {
        /// The program whose maps could not be filled.
        role: Role,
        /// Message of the kernel.
        cause: Box<InstallError>,
    },
    /// A map could not be read.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel did not run a program on a packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Frames could not be sent to the programs on a virtual device.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The programs could not be timed.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The empty program, with which the overhead of a run is measured, could not be loaded.
    #[error(transparent)]
    Frame {
        /// Message of the kernel.
        cause: Box<LoadError>,
    },
    /// The thread for the rehearsal could not be started.
    #[error("the thread for the rehearsal does not start: {cause}")]
    Thread {
        /// Error of the operating system.
        cause: io::Error,
    },
    /// The thread of the rehearsal ended before it returned a result.
    #[error("the thread of the rehearsal ended before it was done; please report it")]
    Ended,
}

impl RehearsalError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            RehearsalError::Load { cause, .. } | RehearsalError::Frame { cause } => cause.code(),
            RehearsalError::Install { cause, .. } => cause.code(),
            RehearsalError::Map(error) => error.code(),
            RehearsalError::Run(error) => error.code(),
            RehearsalError::Wire(error) => error.code(),
            RehearsalError::Timing(error) => error.code(),
            RehearsalError::Thread { .. } => codes::SYSTEM_RESOURCES,
            RehearsalError::Ended => codes::INTERNAL_ERROR,
        }
    }
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
