//! Errors of running programs on live packets.

use slowpath_codes as codes;
use std::io;

use thiserror::Error;

use crate::retry::Interruptible;
use crate::{GeneratedError, LinkError, NamespaceError};

/// An error of preparing or running a program on live packets.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The network namespace or its devices could not be created.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program could not be attached to a device.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A generated program that a live run needs (such as a packet counter) could not be loaded or
    /// used.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// The file descriptor of the program could not be duplicated.
    #[error("the program cannot be held: {cause}; close other files")]
    Held {
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The kernel does not support test runs with live frames (`BPF_F_TEST_XDP_LIVE_FRAMES`).
    #[error("the kernel sends no packets of test runs: {cause}; boot Linux 5.18 or later")]
    Unsupported {
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// The packet is shorter than an Ethernet header, which live runs need.
    #[error("a packet of {len} bytes; live packets need at least 14")]
    TooShort {
        /// Length of the packet in bytes.
        len: usize,
    },
    /// The packet is too long. It has to fit into one page, together with the room that the kernel
    /// keeps around it.
    #[error("a packet of {len} bytes; live packets with their metadata have at most about 3,400")]
    TooLong {
        /// Length of packet and metadata in bytes.
        len: usize,
    },
    /// A batch has more than [`crate::live::LARGEST_BATCH`] packets.
    #[error("batches of {batch} packets; the kernel takes at most 256 at a time")]
    Batch {
        /// Number of packets in a batch that the caller requested.
        batch: u32,
    },
    /// The XDP context names another device than the one that receives the packets of live runs.
    #[error("a packet from device {requested}; here they come from device {device}")]
    Device {
        /// Index of the device in the context.
        requested: u32,
        /// Index of the receiving device.
        device: u32,
    },
    /// A signal ended the run before all packets were sent.
    #[error("a signal came before all packets were sent; run them again")]
    Interrupted,
    /// The kernel failed to run the program on the packets.
    #[error("the kernel does not run a packet of {len} bytes live: {cause}; {hint}")]
    Kernel {
        /// Length of the packet in bytes.
        len: usize,
        /// The error that the kernel returned.
        cause: io::Error,
        /// Advice to the user.
        hint: &'static str,
    },
}

impl LiveError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            LiveError::Namespace(error) => error.code(),
            LiveError::Link(error) => error.code(),
            LiveError::Generated(error) => error.code(),
            LiveError::Held { .. } => codes::SYSTEM_RESOURCES,
            LiveError::Unsupported { .. } => codes::LIVE_NOT_SUPPORTED,
            LiveError::Batch { .. } => codes::INVALID_VALUE,
            LiveError::TooShort { .. }
            | LiveError::TooLong { .. }
            | LiveError::Device { .. }
            | LiveError::Kernel { .. } => codes::PACKET_NOT_RUNNABLE,
            LiveError::Interrupted => codes::INTERRUPTED,
        }
    }
}

impl Interruptible for LiveError {
    fn is_interrupted(&self) -> bool {
        matches!(self, LiveError::Interrupted)
    }
}
