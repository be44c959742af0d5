//! Errors of replaying a program or a packet. Each message is one line.

use slowpath_bpf::ObjectError;
use slowpath_bpf::lift::LiftError;
use slowpath_codes as codes;
use slowpath_exec::concrete::ConcreteError;
use slowpath_kernel::{InstallError, LoadError, MapError, RunError};
use thiserror::Error;

use crate::disagreement::Disagreement;

/// An error that prevents the replay of a program or packet.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The object of the program could not be linked.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The program could not be lifted.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// The kernel did not load the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An element of a map could not be read or written.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Map content could not be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The kernel did not run the program on the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program does not have a map with this name.
    #[error("program {program} has no map {map}")]
    NoMap {
        /// Name of the program that lacks the map.
        program: String,
        /// Name of the missing map.
        map: String,
    },
    /// The packet has metadata, which replay does not support.
    #[error(
        "program {program}: a packet with {len} bytes of metadata; its model supports \
         only packets without metadata"
    )]
    Metadata {
        /// Name of the program.
        program: String,
        /// Length of the metadata in bytes.
        len: usize,
    },
    /// After an earlier failed run, the content of a map is unknown and cannot be read back from
    /// the kernel.
    #[error(
        "program {program}: after an untracked run, the content of {map} is unknown; start again"
    )]
    Lost {
        /// Name of the program.
        program: String,
        /// Name of the map.
        map: String,
    },
    /// The interpreter could not complete the run of the program on the packet.
    #[error("program {program}: the interpreter stops: {cause}")]
    GivenUp {
        /// Name of the program.
        program: String,
        /// Reason why the interpreter stopped.
        cause: ConcreteError,
    },
    /// Kernel and interpreter give different results for the packet.
    #[error("{0}; this is a defect of slowpath, please report it")]
    Disagreement(Box<Disagreement>),
    /// Kernel and interpreter gave different results. With other clock times, random numbers and
    /// similar values they may agree, but not all values were tried. The interpreter's maps were
    /// copied from the kernel again.
    #[error("{0}")]
    Undecided(Box<Disagreement>),
}

impl ReplayError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            ReplayError::Object(error) => error.code(),
            ReplayError::Lift(error) => error.code(),
            ReplayError::Load(error) => error.code(),
            ReplayError::Map(error) => error.code(),
            ReplayError::Install(error) => error.code(),
            ReplayError::Run(error) => error.code(),
            ReplayError::NoMap { .. } => codes::MAPS_DO_NOT_FIT,
            ReplayError::Metadata { .. } => codes::PACKET_NOT_RUNNABLE,
            ReplayError::Lost { .. } | ReplayError::GivenUp { .. } | ReplayError::Undecided(_) => {
                codes::REPLAY_UNDECIDED
            }
            ReplayError::Disagreement(_) => codes::MODEL_AND_KERNEL_DIFFER,
        }
    }
}
