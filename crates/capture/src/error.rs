//! Errors of reading capture files. Each message is one line.

use slowpath_codes as codes;
use std::io;

use thiserror::Error;

/// An error that ended the reading of a capture file, with the position of the error in the file.
/// Packets that were returned before are valid.
#[derive(Debug, Error)]
#[error("{problem}{}", place(*.packets, *.offset))]
pub struct CaptureError {
    /// Number of packets read before the failure.
    pub packets: u64,
    /// Offset in bytes of the block that cannot be read.
    pub offset: u64,
    /// Cause of the failure.
    #[source]
    pub problem: Problem,
}

impl CaptureError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        self.problem.code()
    }
}

/// The reason why a capture file cannot be read.
#[derive(Debug, Error)]
pub enum Problem {
    /// The file could not be opened or read.
    #[error("{}", failure(.0))]
    Io(#[from] io::Error),
    /// The file is neither pcap nor pcapng.
    #[error("the file is not a capture: it starts with {start}, unlike pcap and pcapng{hint}")]
    OtherFile {
        /// First bytes of the file, in hexadecimal.
        start: String,
        /// Advice to the user, such as to decompress the file first; empty if there is none.
        hint: &'static str,
    },
    /// The file is empty.
    #[error("the file is empty: it lacks the header of a capture")]
    Empty,
    /// The file ends within a block.
    #[error("the capture is cut off")]
    CutOff,
    /// A block violates the file format.
    #[error("the capture is damaged: no packet or block can be read")]
    Damaged,
    /// A block is longer than this crate accepts.
    #[error("the capture is damaged: a block has more than {most} bytes")]
    TooLarge {
        /// Maximum length of a block in bytes.
        most: usize,
    },
    /// The packets of the file are not Ethernet frames.
    #[error("its packets have link type {link}, but XDP programs receive Ethernet frames; capture \
        on one device, not on all{}", of(*.interface))]
    OtherLink {
        /// Name and number of the link type of the packets.
        link: String,
        /// Number of the interface; `None` for pcap files, which have only one.
        interface: Option<u32>,
    },
    /// A packet refers to an interface that the file does not describe.
    #[error("the capture is damaged: it does not describe interface {interface} of a packet")]
    NoInterface {
        /// Number of the interface.
        interface: u32,
    },
}

impl Problem {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            Problem::Io(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => codes::NO_SUCH_FILE,
                io::ErrorKind::IsADirectory => codes::IS_A_DIRECTORY,
                _ => codes::FILE_UNREADABLE,
            },
            Problem::OtherFile { .. } => codes::NOT_A_CAPTURE,
            Problem::Empty => codes::FILE_EMPTY,
            Problem::CutOff
            | Problem::Damaged
            | Problem::TooLarge { .. }
            | Problem::NoInterface { .. } => codes::CAPTURE_DAMAGED,
            Problem::OtherLink { .. } => codes::CAPTURE_NOT_ETHERNET,
        }
    }
}

fn failure(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::IsADirectory => "is a directory; name a capture in it".into(),
        _ => format!("the capture cannot be read: {error}"),
    }
}

fn place(packets: u64, offset: u64) -> String {
    match (packets, offset) {
        (0, 0) => String::new(),
        (0, offset) => format!(" (at byte {offset}, before its first packet)"),
        (packets, offset) => format!(" (at byte {offset}, after packet {packets})"),
    }
}

fn of(number: Option<u32>) -> String {
    number.map_or(String::new(), |number| format!(" (interface {number})"))
}
