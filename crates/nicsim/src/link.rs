//! What lies between two stages: a ring of packets, behind an accelerator or not.

use std::collections::VecDeque;

use crate::packet::Packet;

/// A ring, and who waits at its ends.
#[derive(Debug)]
pub struct Link {
    /// Packets that may be on it at once, those in the accelerator included.
    pub depth: usize,
    /// Packets that are.
    pub used: usize,
    /// Those that the next stage can take.
    pub ready: VecDeque<Packet>,
    /// The accelerator that they pass before, by number.
    pub through: Option<usize>,
    /// Threads of the stage before that have no room.
    pub blocked: VecDeque<usize>,
    /// Threads of the next stage that have nothing to do.
    pub hungry: VecDeque<usize>,
}

impl Link {
    /// An empty ring.
    pub fn new(depth: usize, through: Option<usize>) -> Self {
        Link {
            depth,
            used: 0,
            ready: VecDeque::new(),
            through,
            blocked: VecDeque::new(),
            hungry: VecDeque::new(),
        }
    }
}
