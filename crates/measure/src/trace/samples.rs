//! Keeps example packets of paths, each with the map content before it.
//!
//! The first packet of a path is not typical, because maps fill up. The packets of a path are
//! numbered from 1, and the example is the last one whose number is a power of two. The example is
//! therefore always in the second half of these packets.

use std::collections::BTreeMap;

/// Maximum number of example packets that are kept.
const MAX_EXAMPLES: usize = 64;
/// Maximum total size in bytes of all example packets with their map content.
const MAX_BYTES: usize = 64 << 20;
/// Limit for replacing an example if there are too many examples: a path gets a new example only if
/// at least one in this number of packets takes the path.
const RARE: u64 = 1000;

/// An example packet of a path, with the map content before it.
#[derive(Clone, Debug)]
pub struct Example {
    /// Number of the packet in the trace, from 1.
    pub packet: u64,
    /// The packet and the map content, as the JSON text of a witness.
    pub witness: String,
}

/// The example packets that are kept, by the index of their path.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: BTreeMap<usize, Example>,
    bytes: usize,
}

impl Samples {
    /// Returns true if the next packet of a path should become the example of this path. `earlier`
    /// is the number of earlier packets on the path. `packets` is the number of packets in the
    /// trace so far.
    pub fn needs_example(&self, earlier: u64, packets: u64) -> bool {
        let count = earlier.saturating_add(1);
        let room = self.kept.len() < MAX_EXAMPLES && self.bytes < MAX_BYTES;
        count.is_power_of_two() && (room || count.saturating_mul(RARE) >= packets)
    }

    /// Makes a packet the example of its path. If a limit is exceeded, drops the examples of the
    /// rarest paths, but never that of the path `slowest`. `packets` returns the number of packets
    /// on a path.
    pub fn keep(
        &mut self,
        path: usize,
        kept: Example,
        slowest: Option<usize>,
        packets: impl Fn(usize) -> u64,
    ) {
        self.bytes = self.bytes.saturating_add(kept.witness.len());
        if let Some(old) = self.kept.insert(path, kept) {
            self.bytes = self.bytes.saturating_sub(old.witness.len());
        }
        while self.kept.len() > 1 && (self.kept.len() > MAX_EXAMPLES || self.bytes > MAX_BYTES) {
            let others = self.kept.keys().copied().filter(|&other| Some(other) != slowest);
            let Some(rarest) = others.min_by_key(|&other| packets(other)) else { return };
            if let Some(dropped) = self.kept.remove(&rarest) {
                self.bytes = self.bytes.saturating_sub(dropped.witness.len());
            }
        }
    }

    pub fn example(&self, path: usize) -> Option<&Example> {
        self.kept.get(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(packet: u64) -> Example {
        Example { packet, witness: "{}".to_owned() }
    }

    #[test]
    fn examples_are_from_the_second_half_of_the_packets_of_their_path() {
        let samples = Samples::default();
        let examples: Vec<u64> = (1..=20).filter(|&n| samples.needs_example(n - 1, n)).collect();
        assert_eq!(examples, [1, 2, 4, 8, 16]);
    }

    #[test]
    fn the_rarest_are_dropped_first_and_the_slowest_stays() {
        let mut samples = Samples::default();
        for path in 0..MAX_EXAMPLES + 3 {
            samples.keep(path, example(path as u64), Some(0), |path| path as u64);
        }
        assert!(samples.example(0).is_some());
        assert!((1..4).all(|path| samples.example(path).is_none()));
        assert!((4..MAX_EXAMPLES + 3).all(|path| samples.example(path).is_some()));
        assert!(!samples.needs_example(0, 1_000_000), "a rare path replaces no other");
        assert!(samples.needs_example(1023, 1_000_000));
    }
}
