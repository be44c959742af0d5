//! The options of lifting: the possible packet lengths, and whether the program's result is stored
//! in a memory region.

use crate::firmware::MIN_FRAME;

/// Options of the lifter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiftOptions {
    /// Length of the shortest packet in bytes, without frame check sequence.
    pub min_packet: u16,
    /// Length of the longest packet in bytes, without frame check sequence; at most 16383.
    pub max_packet: u16,
    /// True if the program stores its result, `r0`, to a separate region named `result`. Only
    /// comparisons with another program read this region.
    pub stores_result: bool,
}

impl Default for LiftOptions {
    /// Returns options for packets of 60 bytes (the minimum of Ethernet) to 1500 bytes (the usual
    /// MTU).
    fn default() -> Self {
        LiftOptions { min_packet: MIN_FRAME, max_packet: 1500, stores_result: false }
    }
}
