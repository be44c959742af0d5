//! A packet in a function, or one round of a function without packets.

use crate::time::Time;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the buffer.
    pub buffer: u32,
    /// Number of matches that an accelerator finds in the packet.
    pub matches: u32,
    /// Time at which the function started to process the packet.
    pub begun: Time,
}
