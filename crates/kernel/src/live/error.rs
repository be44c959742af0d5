//! Why packets are not run live.

use std::io;

use thiserror::Error;

use crate::again::Interruptible;
use crate::{GeneratedError, LinkError, NamespaceError};

/// Why packets are not run live.
#[derive(Debug, Error)]
pub enum LiveError {
    /// There is no network namespace, or no device in it.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program is not attached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// One of the programs that count, send and serve as baselines does not what it should.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// A file descriptor is not copied.
    #[error("the program cannot be held: {cause}; close other files")]
    Held {
        /// The system's answer.
        cause: io::Error,
    },
    /// The kernel makes no test runs with live frames.
    #[error("the kernel sends no packets of test runs: {cause}; boot Linux 5.18 or later")]
    Unsupported {
        /// The kernel's answer.
        cause: io::Error,
    },
    /// Test runs start with an Ethernet header.
    #[error("a packet of {len} bytes; live packets need at least 14")]
    TooShort {
        /// In bytes.
        len: usize,
    },
    /// A live packet lies in one page, with what the kernel keeps around it.
    #[error("a packet of {len} bytes; live packets with their metadata have at most about 3,400")]
    TooLong {
        /// With its metadata, in bytes.
        len: usize,
    },
    /// The kernel takes at most [`crate::live::LARGEST_BATCH`] packets at a time.
    #[error("batches of {batch} packets; the kernel takes at most 256 at a time")]
    Batch {
        /// How many were wanted.
        batch: u32,
    },
    /// Packets come in on another device.
    #[error("a packet from device {wanted}; here they come from device {device}")]
    Device {
        /// Number of the device that the packet should come from.
        wanted: u32,
        /// Number of the one that packets come from.
        device: u32,
    },
    /// A signal ended it before all packets were sent.
    #[error("a signal came before all packets were sent; run them again")]
    Interrupted,
    /// The kernel does not run them.
    #[error("the kernel does not run a packet of {len} bytes live: {cause}; {hint}")]
    Kernel {
        /// Length of the packet in bytes.
        len: usize,
        /// The kernel's answer.
        cause: io::Error,
        /// What may help.
        hint: &'static str,
    },
}

impl Interruptible for LiveError {
    fn is_interrupted(&self) -> bool {
        matches!(self, LiveError::Interrupted)
    }
}
