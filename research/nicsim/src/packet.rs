//! The unit of work of a simulated function: a packet or an iteration.

use crate::time::Time;

/// A packet that a function processes, or one iteration of a function without packets.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Index of the flow.
    pub flow: u32,
    /// Index of the buffer.
    pub buffer: u32,
    /// Number of matches of regular expressions that an accelerator finds in the payload.
    pub matches: u32,
    /// Time at which the function started to process the packet.
    pub begun: Time,
}
