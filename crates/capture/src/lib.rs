//! Packets of capture files, one after the other: pcap
//! (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>) and pcapng
//! (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>), of either byte order and with
//! times of any unit.
//!
//! The blocks are read by the crate `pcap-parser`. Here stands what a program at a device sees of
//! them: Ethernet frames without their check sequence, in the order of the file. Whatever a file
//! contains, there is an answer: packets, and then the end or an error with its place. Comments are
//! not kept.

mod blocks;
mod error;
mod fill;
mod interface;
mod link;
mod reader;

pub use error::{CaptureError, Problem};
pub use reader::{Capture, Format, Packet};
