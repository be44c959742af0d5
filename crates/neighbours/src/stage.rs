//! Defines the interface of the stages that process the headers of packets.

use crate::header::Header;

/// Decision of a stage about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues to the next stage.
    Pass,
    /// The packet is dropped.
    Drop,
}

/// A stage that processes the headers of packets. It allocates memory only when its tables grow.
pub trait Stage: Send {
    /// Processes the headers of one packet, and decides whether it continues.
    fn process(&mut self, header: &mut Header) -> Verdict;
}
