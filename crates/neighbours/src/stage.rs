//! The interface of stages, which process the headers of packets.

use crate::header::Header;

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues to the next stage.
    Pass,
    /// The packet is dropped.
    Drop,
}

/// A stage that processes headers. It allocates memory only to grow its tables.
pub trait Stage: Send {
    /// Processes one packet.
    fn process(&mut self, header: &mut Header) -> Verdict;
}
