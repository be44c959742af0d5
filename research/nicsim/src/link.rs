//! A link between two stages: a ring of packets, which may pass through an accelerator first.

use std::collections::VecDeque;

use crate::packet::Packet;

/// A ring buffer of packets between two stages, with the threads that wait at its ends.
#[derive(Debug)]
pub struct Link {
    /// Capacity in packets, including those in the accelerator.
    pub depth: usize,
    /// Number of packets in the ring and the accelerator.
    pub used: usize,
    /// Packets that are ready for the next stage.
    pub ready: VecDeque<Packet>,
    /// Index of the accelerator that packets pass through first, if any.
    pub through: Option<usize>,
    /// Threads of the previous stage that wait for room.
    pub waiting_producers: VecDeque<usize>,
    /// Threads of the next stage that wait for packets.
    pub waiting_consumers: VecDeque<usize>,
}

impl Link {
    /// Creates an empty ring.
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
