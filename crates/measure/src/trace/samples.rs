//! Example packets of paths, with the maps as they were before them.
//!
//! The first of many packets on a path is not typical, because maps fill up. The example is the
//! last packet whose count on the path is a power of two, so it comes from the second half.

use std::collections::BTreeMap;

/// Most examples.
const MOST: usize = 64;
/// Most bytes of all examples.
const MOST_BYTES: usize = 64 << 20;
/// Once the limits are reached, a path needs a share of at least 1 in this number for an example.
const RARE: u64 = 1000;

/// An example packet.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Number of the packet in the trace.
    pub packet: u64,
    /// Packet and maps, as JSON text of a witness.
    pub witness: String,
}

/// Example packets, by the number of their path.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: BTreeMap<usize, Kept>,
    bytes: usize,
}

impl Samples {
    /// Returns true if the next packet of a path shall be kept, given the number of earlier packets
    /// on the path and in the trace.
    pub fn wants(&self, others: u64, packets: u64) -> bool {
        let count = others.saturating_add(1);
        let room = self.kept.len() < MOST && self.bytes < MOST_BYTES;
        count.is_power_of_two() && (room || count.saturating_mul(RARE) >= packets)
    }

    /// Keeps a packet. Beyond the limits, drops the examples of the rarest paths, except that of
    /// path `slowest`. `packets` returns the number of packets on a path.
    pub fn keep(
        &mut self,
        path: usize,
        kept: Kept,
        slowest: Option<usize>,
        packets: impl Fn(usize) -> u64,
    ) {
        self.bytes = self.bytes.saturating_add(kept.witness.len());
        if let Some(old) = self.kept.insert(path, kept) {
            self.bytes = self.bytes.saturating_sub(old.witness.len());
        }
        while self.kept.len() > 1 && (self.kept.len() > MOST || self.bytes > MOST_BYTES) {
            let others = self.kept.keys().copied().filter(|&other| Some(other) != slowest);
            let Some(rarest) = others.min_by_key(|&other| packets(other)) else { return };
            if let Some(gone) = self.kept.remove(&rarest) {
                self.bytes = self.bytes.saturating_sub(gone.witness.len());
            }
        }
    }

    /// Returns the example packet of a path.
    pub fn of(&self, path: usize) -> Option<&Kept> {
        self.kept.get(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(packet: u64) -> Kept {
        Kept { packet, witness: "{}".to_owned() }
    }

    #[test]
    fn packets_come_from_the_second_half_of_those_of_their_path() {
        let samples = Samples::default();
        let wanted: Vec<u64> = (1..=20).filter(|&n| samples.wants(n - 1, n)).collect();
        assert_eq!(wanted, [1, 2, 4, 8, 16]);
    }

    #[test]
    fn the_rarest_go_first_and_the_slowest_stays() {
        let mut samples = Samples::default();
        for path in 0..MOST + 3 {
            samples.keep(path, kept(path as u64), Some(0), |path| path as u64);
        }
        assert!(samples.of(0).is_some());
        assert!((1..4).all(|path| samples.of(path).is_none()));
        assert!((4..MOST + 3).all(|path| samples.of(path).is_some()));
        assert!(!samples.wants(0, 1_000_000), "a rare path takes nobody's place");
        assert!(samples.wants(1023, 1_000_000));
    }
}
