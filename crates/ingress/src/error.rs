//! Errors of setting up a program together with its traffic.

use slowpath_kernel::LoadError;
use slowpath_kernel::timing::TimingError;
use thiserror::Error;

/// An error that prevents a program from running with its traffic.
#[derive(Debug, Error)]
pub enum IngressError {
    /// The kernel did not load the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel did not run the program.
    #[error(transparent)]
    Run(#[from] TimingError),
    /// A parameter of the traffic is out of range.
    #[error("{what}: {value} is not between {least} and {most}")]
    Traffic {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        value: u64,
        /// Smallest allowed value of the parameter.
        least: u64,
        /// Largest allowed value of the parameter.
        most: u64,
    },
    /// Packets of different flows grow by different lengths, so the same steps cannot restore all
    /// of them.
    #[error(
        "it makes packets of one flow longer by {one} bytes and those of another by {other}: one \
         buffer for all of them cannot be put back between runs"
    )]
    Growth {
        /// Number of bytes by which the first packet grows.
        one: i64,
        /// Number of bytes by which another packet grows.
        other: i64,
    },
    /// Many runs leave another packet than a single run, although the packet is restored before
    /// each run.
    #[error(
        "what it makes of a packet depends on more than the packet's flow (on time, on chance, on \
         packets before it): one buffer for all packets cannot be put back between runs"
    )]
    NotRestorable,
    /// The set-up ended early because the caller asked for it.
    #[error("stopped")]
    Stopped,
}
