//! Why a capture file is not read to its end. Each error is one line.

use std::io;

use thiserror::Error;

/// Where a file cannot be read, and why. What was read before is valid.
#[derive(Debug, Error)]
#[error("{problem}{}", place(*.packets, *.offset))]
pub struct CaptureError {
    /// How many packets were read before.
    pub packets: u64,
    /// Bytes of the file in front of the block that is not read.
    pub offset: u64,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a capture file.
#[derive(Debug, Error)]
pub enum Problem {
    /// It cannot be opened or read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is no capture: it starts with {start}, which neither pcap nor pcapng does{hint}")]
    OtherFile {
        /// Its first bytes.
        start: String,
        /// What to do, where that is known.
        hint: &'static str,
    },
    /// There is nothing in it.
    #[error("it is empty: it has not even the header of a capture")]
    Empty,
    /// It ends within a block.
    #[error("it is cut off")]
    CutOff,
    /// A block is not as the format says.
    #[error("it is damaged: no packet or block can be read")]
    Damaged,
    /// A block is larger than any that makes sense.
    #[error("it is damaged: a block has more than {most} bytes")]
    TooLarge {
        /// The most that is read.
        most: usize,
    },
    /// Packets are not Ethernet frames.
    #[error("its packets are of link type {link}, and a program at a device sees Ethernet frames; capture at one device, not at all of them{}", of(*.interface))]
    OtherLink {
        /// Name and number of the link type.
        link: String,
        /// Number of the interface, in files that have several.
        interface: Option<u32>,
    },
    /// A packet is of an interface that the file does not describe.
    #[error("it is damaged: a packet is of interface {interface}, which is not described")]
    NoInterface {
        /// Its number.
        interface: u32,
    },
}

fn place(packets: u64, offset: u64) -> String {
    match (packets, offset) {
        (0, 0) => String::new(),
        (0, offset) => format!(" (at byte {offset}, before its first packet)"),
        (packets, offset) => format!(" (at byte {offset}, behind packet {packets})"),
    }
}

fn of(number: Option<u32>) -> String {
    number.map_or(String::new(), |number| format!(" (interface {number})"))
}
