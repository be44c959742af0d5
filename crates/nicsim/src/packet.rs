//! A packet on its way through a function, or a round of what has none.

use crate::time::Time;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Whose, by number.
    pub flow: u32,
    /// Where it is kept.
    pub buffer: u32,
    /// Matches that an accelerator finds in it.
    pub matches: u32,
    /// When the function began with it.
    pub begun: Time,
}
