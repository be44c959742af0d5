//! A link between two stages: a ring of packets, optionally behind an accelerator.

use std::collections::VecDeque;

use crate::packet::Packet;

/// A ring, with the threads that wait at its ends.
#[derive(Debug)]
pub struct Link {
    /// Capacity in packets, including those in the accelerator.
    pub depth: usize,
    /// Number of packets in the ring and the accelerator.
    pub used: usize,
    /// Packets that the next stage can take.
    pub ready: VecDeque<Packet>,
    /// Number of the accelerator that packets pass through first.
    pub through: Option<usize>,
    /// Threads of the previous stage that wait for room.
    pub waiting_producers: VecDeque<usize>,
    /// Threads of the next stage that wait for packets.
    pub waiting_consumers: VecDeque<usize>,
}

impl Link {
    /// An empty ring.
    pub fn new(depth: usize, through: Option<usize>) -> Self {
        Link {
            depth,
            used: 0,
            ready: VecDeque::new(),
            through,
            waiting_producers: VecDeque::new(),
            waiting_consumers: VecDeque::new(),
        }
    }
}
