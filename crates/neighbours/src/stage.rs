//! Defines the interface of the stages of a network function, which process the headers of packets.

use crate::header::Header;

/// Decision of a stage about a packet: to pass it on or to drop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues to the next stage.
    Pass,
    Drop,
}

/// A stage of a network function, which processes the headers of packets. It allocates memory only
/// when its tables grow.
pub trait Stage: Send {
    /// Processes the headers of one packet, and decides whether the packet continues.
    fn process(&mut self, header: &mut Header) -> Verdict;
}
