//! Packets that stand for paths, with the maps as they were before them.
//!
//! Of a path that packets take again and again, the first is not usual: maps fill up. The one that is
//! kept is the last whose number among them is a power of two, so it comes from their second half.

use std::collections::BTreeMap;

/// Most that are kept.
const MOST: usize = 64;
/// Most bytes of them.
const MOST_BYTES: usize = 64 << 20;
/// A path with a smaller share than one of so many is not kept, if there is no room.
const RARE: u64 = 1000;

/// A packet that was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number in the trace.
    pub packet: u64,
    /// It and the maps, the JSON text of a witness.
    pub witness: String,
}

/// Packets that stand for paths, by the number of the path.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: BTreeMap<usize, Kept>,
    bytes: usize,
}

impl Samples {
    /// Whether to keep the packet of a path that comes after so many others of it, and after so many
    /// packets of the trace.
    pub fn wants(&self, others: u64, packets: u64) -> bool {
        let count = others.saturating_add(1);
        let room = self.kept.len() < MOST && self.bytes < MOST_BYTES;
        count.is_power_of_two() && (room || count.saturating_mul(RARE) >= packets)
    }

    /// Keeps a packet. If these are too many then, those of the rarest paths go, but for the one with
    /// the number `slowest`; `packets` says how many packets take a path.
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

    /// The packet that stands for a path.
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
