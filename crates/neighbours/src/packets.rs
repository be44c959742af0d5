//! Provides packets as a driver leaves them in a ring of buffers. The buffers are used in turn,
//! with a new header each time.
//!
//! Each received packet belongs to a random flow, so there can be more flows than buffers. Writing
//! the header stands for the work of a network card. Its time counts as part of the packet's time.

use std::sync::Arc;

use slowpath_random::Random;

use crate::error::{NeighbourError, zeros};
use crate::header::{BYTES, Header, sum_of, udp_headers};
use crate::payloads::Payloads;
use crate::traffic::{Traffic, flow_of};

/// A ring of packet buffers from which a network function receives its packets.
pub struct Packets {
    traffic: Traffic,
    headers: Vec<Header>,
    sums: Vec<u32>,
    payloads: Arc<Payloads>,
    random: Random,
    next: usize,
}

impl Packets {
    /// Creates a ring of packets with the flows, sizes and payloads that `traffic` describes.
    ///
    /// # Errors
    /// If the payloads are too small for their matches, or there is not enough memory.
    pub fn new(traffic: &Traffic) -> Result<Packets, NeighbourError> {
        let Traffic { ring, mtbr, seed, .. } = *traffic;
        let payloads = Arc::new(Payloads::new(ring, traffic.payload_bytes(), mtbr, seed)?);
        let mut sums: Vec<u32> = zeros("packets", ring)?;
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum = sum_of(payloads.get(at));
        }
        let mut headers = Vec::new();
        let bytes = ring.saturating_mul(BYTES);
        let room = headers.try_reserve_exact(ring);
        room.map_err(|_| NeighbourError::Memory { what: "packets", bytes })?;
        headers.resize(ring, [0; BYTES]);
        let random = Random::new(seed ^ 0x7472_6166);
        Ok(Packets { traffic: *traffic, headers, sums, payloads, random, next: 0 })
    }

    /// Returns the payloads of all packet buffers.
    pub fn payloads(&self) -> Arc<Payloads> {
        Arc::clone(&self.payloads)
    }

    /// Returns the headers of a packet that belongs to the flow with this number.
    pub fn header_of(&self, number: u64) -> Header {
        let length = self.traffic.payload_bytes() as u16;
        udp_headers(
            &flow_of(number, self.traffic.seed),
            length,
            self.sums.first().copied().unwrap_or(0),
        )
    }

    /// Receives the next packet, of a random flow. Returns the index of its buffer, and its
    /// headers.
    #[inline]
    pub fn receive(&mut self) -> (usize, &mut Header) {
        let at = self.next;
        self.next = if at + 1 == self.headers.len() { 0 } else { at + 1 };
        let flow = flow_of(self.random.below(self.traffic.flows), self.traffic.seed);
        let header = &mut self.headers[at];
        *header = udp_headers(&flow, self.traffic.payload_bytes() as u16, self.sums[at]);
        (at, header)
    }
}

#[cfg(test)]
mod tests {
    use super::Packets;
    use crate::header::{flow, intact};
    use crate::traffic::Traffic;
    use std::collections::HashSet;

    #[test]
    fn packets_are_whole_and_of_all_flows() {
        let traffic = Traffic { flows: 50, packet_bytes: 201, mtbr: 600.0, ring: 16, seed: 4 };
        let mut packets = Packets::new(&traffic).unwrap();
        let payloads = packets.payloads();
        let mut flows = HashSet::new();
        for number in 0..2000 {
            let (at, header) = packets.receive();
            assert_eq!(at, number % 16);
            assert!(intact(header, payloads.get(at)));
            flows.insert(flow(header));
        }
        assert_eq!(flows.len(), 50);
        assert_eq!(payloads.get(0).len(), 201 - 42);
    }
}
