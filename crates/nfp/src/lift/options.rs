//! What lifting takes as given: which packets arrive, and what is to be kept.

use crate::firmware::MIN_FRAME;

/// What the lifter takes as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiftOptions {
    /// Length of the shortest packet in bytes, without frame check sequence.
    pub min_packet: u16,
    /// Length of the longest packet in bytes, without frame check sequence; at most 16383.
    pub max_packet: u16,
    /// Whether the program's result, `r0`, is kept in a region of its own, `result`, for comparing it
    /// with another program's: nothing else reads it.
    pub keeps_result: bool,
}

impl Default for LiftOptions {
    /// From the minimum of Ethernet, 60 bytes, to the usual MTU, 1500 bytes.
    fn default() -> Self {
        LiftOptions { min_packet: MIN_FRAME, max_packet: 1500, keeps_result: false }
    }
}
