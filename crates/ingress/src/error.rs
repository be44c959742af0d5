//! Why a program gets no packets.

use slowpath_kernel::LoadError;
use slowpath_kernel::timing::TimingError;
use thiserror::Error;

/// Why a program gets no packets.
#[derive(Debug, Error)]
pub enum IngressError {
    /// The kernel does not take the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It does not run it.
    #[error(transparent)]
    Run(#[from] TimingError),
    /// Traffic that makes no sense.
    #[error("{what}: {value} is not between {least} and {most}")]
    Traffic {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// Its least value.
        least: u64,
        /// Its greatest value.
        most: u64,
    },
    /// The packet cannot be put back in the same way behind each run.
    #[error(
        "it makes packets of one flow longer by {one} bytes and those of another by {other}: one \
         buffer for all of them cannot be put back between runs"
    )]
    Growth {
        /// By how much the first packet grew.
        one: i64,
        /// And another one.
        other: i64,
    },
    /// The packet is something else after it was put back.
    #[error(
        "what it makes of a packet depends on more than the packet's flow (on time, on chance, on \
         packets before it): one buffer for all packets cannot be put back between runs"
    )]
    Unsteady,
    /// Somebody asked to end.
    #[error("stopped")]
    Stopped,
}
