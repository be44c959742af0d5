//! Reads the packets of capture files: pcap
//! (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>) and pcapng
//! (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>), in either byte order and
//! with any unit of time.
//!
//! The crate `pcap-parser` parses the blocks. This crate extracts the packets as an XDP program at
//! a device sees them: Ethernet frames without their check sequence, in the order of the file. Any
//! input yields packets, followed by the end or by an error with its position. Comments in the file
//! are ignored.

mod blocks;
mod error;
mod interface;
mod link;
mod reader;

pub use error::{CaptureError, Problem};
pub use reader::{Capture, Format, Packet};
