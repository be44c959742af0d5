//! Errors of loading an XDP program and preparing it for its generated traffic.

use slowpath_codes as codes;
use slowpath_kernel::LoadError;
use slowpath_kernel::timing::TimingError;
use thiserror::Error;

/// An error that prevents a program from running with its generated traffic.
#[derive(Debug, Error)]
pub enum IngressError {
    /// The kernel did not load the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel did not run the program.
    #[error(transparent)]
    Run(#[from] TimingError),
    /// A parameter of the generated traffic is out of range.
    #[error("{what}: {value} is not between {least} and {most}")]
    Traffic {
        /// Name of the traffic parameter.
        what: &'static str,
        /// Value of the traffic parameter.
        value: u64,
        /// Smallest allowed value of the traffic parameter.
        least: u64,
        /// Largest allowed value of the traffic parameter.
        most: u64,
    },
    /// The program changes the lengths of packets of different flows by different amounts.
    /// Therefore no single list of steps can restore all packets in one buffer.
    #[error(
        "it makes packets of one flow longer by {one} bytes and those of another by {other}: \
         slowpath cannot restore one buffer for all of them between runs"
    )]
    Growth {
        /// Number of bytes by which the program makes the first packet longer.
        one: i64,
        /// Number of bytes by which the program makes another packet longer.
        other: i64,
    },
    /// The last of many runs leaves a different packet than a single run, although the packet is
    /// restored before each run.
    #[error(
        "its result for a packet depends not only on the flow of the packet, but also on time, \
         random numbers or earlier packets: slowpath cannot restore one buffer for all packets \
         between runs"
    )]
    NotRestorable,
    /// The preparation of the program ended early because the caller asked for it.
    #[error("stopped")]
    Stopped,
}

impl IngressError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            IngressError::Load(error) => error.code(),
            IngressError::Run(error) => error.code(),
            IngressError::Traffic { .. } => codes::FUNCTION_NOT_RUNNABLE,
            IngressError::Growth { .. } | IngressError::NotRestorable => codes::NOT_RESTORABLE,
            IngressError::Stopped => codes::INTERRUPTED,
        }
    }
}
