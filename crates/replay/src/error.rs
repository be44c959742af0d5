//! Why a program or a packet is not replayed. Each error is one line.

use slowpath_bpf::ObjectError;
use slowpath_bpf::lift::LiftError;
use slowpath_exec::concrete::ConcreteError;
use slowpath_kernel::{InstallError, LoadError, MapError, RunError};
use thiserror::Error;

use crate::disagreement::Disagreement;

/// Why a program or a packet is not replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The object layer refuses the program.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// It is not lifted.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// The kernel does not load it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An element of a map is not read or written.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Map content is not installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The kernel does not run the packet.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such map.
    #[error("program {program} has no map {map}")]
    NoMap {
        /// Name of the program.
        program: String,
        /// Name of the map.
        map: String,
    },
    /// The lifted program takes packets without metadata only.
    #[error(
        "program {program}: a packet with {len} bytes of metadata; its model takes packets without"
    )]
    Metadata {
        /// Name of the program.
        program: String,
        /// In bytes.
        len: usize,
    },
    /// What the interpreter does not know cannot be read back from the kernel.
    #[error(
        "program {program}: after a run that was not followed, the content of {map} is not known; start anew"
    )]
    Lost {
        /// Name of the program.
        program: String,
        /// Name of the map.
        map: String,
    },
    /// The interpreter does not complete the run.
    #[error("program {program}: the interpreter gives up: {cause}")]
    GivenUp {
        /// Name of the program.
        program: String,
        /// Why.
        cause: ConcreteError,
    },
    /// The kernel does something else than the interpreter.
    #[error("{0}; this is a defect of slowpath, please report it")]
    Disagreement(Box<Disagreement>),
    /// Whether the kernel does the same is not known. The interpreter has its maps again.
    #[error("{0}")]
    Undecided(Box<Disagreement>),
}
