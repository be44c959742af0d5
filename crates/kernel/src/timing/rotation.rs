//! Describes packets whose bytes differ from run to run of a timed program.

use std::collections::{BTreeMap, BTreeSet};

/// Size in bytes of a field of the packet. If a byte of a field varies, all bytes of the field are
/// written together: a load that is wider than the last store to its bytes waits until the store
/// has reached the cache.
const FIELD: u32 = 4;
/// Offset in bytes of the first [`FIELD`]-byte field. Fields of IP and of the layers above start
/// behind an Ethernet header of 14 bytes.
const FIRST_FIELD: u32 = 14 % FIELD;

/// Packets that differ in single bits. Before each run, the bytes of the next packet are written.
/// All packets are used in turn, in an order that a prefetcher cannot predict.
///
/// The bytes are computed from the number of the packet. A table of packets would compete with the
/// maps of the timed program for the caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes of packet 0 that each run writes, by their offset in the packet.
    bytes: BTreeMap<u32, u8>,
    /// Offsets of the bytes that differ from the original packet, or between two packets of the
    /// rotation.
    varied: BTreeSet<u32>,
    /// For each bit of a packet's number, from the lowest one: the bits of packet 0 to flip if the
    /// bit of the number is set. Each pair contains the offset of a byte and a mask of its bits.
    flips: Vec<Vec<(u32, u8)>>,
}

/// Packet bits to flip, computed by shifting and masking the number of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shifted {
    /// Distance in bits by which the number is shifted to the left; to the right if negative.
    pub left: i32,
    /// Bits of the shifted number that are flipped in the packet.
    pub mask: u64,
}

/// Consecutive packet bytes that one store instruction writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Offset of the first byte.
    pub at: u32,
    /// Number of bytes: 8, 4, 2 or 1.
    pub len: u32,
    /// Value in packet 0, in the byte order of this machine.
    pub value: u64,
    /// Bits of this value to flip in other packets.
    pub changes: Vec<Shifted>,
}

impl Rotation {
    /// Creates a rotation from packet 0, from the bits to flip for each bit of a packet's number,
    /// and from the offsets of other bytes that must be written in all packets. Offsets outside of
    /// the packet are kept: such a packet cannot be written, and counts as a failure.
    pub fn new(
        packet: &[u8],
        flips: Vec<Vec<(u32, u8)>>,
        moved: impl IntoIterator<Item = u32>,
    ) -> Rotation {
        let varied: BTreeSet<u32> =
            flips.iter().flatten().map(|&(at, _)| at).chain(moved).collect();
        let byte = |at: u32| packet.get(at as usize).copied();
        let fields = varied.iter().flat_map(|&at| {
            let first = at.saturating_sub((at + FIELD - FIRST_FIELD) % FIELD);
            first..first + FIELD
        });
        let inside = fields.filter(|&at| byte(at).is_some()).chain(varied.iter().copied());
        let bytes = inside.map(|at| (at, byte(at).unwrap_or(0))).collect();
        Rotation { bytes, varied, flips }
    }

    /// Returns the number of packets in the rotation. Returns `None` if there are too many for a
    /// generated program.
    pub fn count(&self) -> Option<usize> {
        (self.flips.len() < 31).then(|| 1 << self.flips.len())
    }

    /// Returns the ranges of bytes that differ from the original packet, or between two packets of
    /// the rotation. Each pair contains the offset and the length of a range, in bytes.
    pub fn varied(&self) -> Vec<(u32, u32)> {
        ranges(self.varied.iter().copied())
    }

    /// Writes the bytes of packet `number` of the rotation to `packet`.
    pub fn write(&self, number: usize, packet: &mut [u8]) {
        for (&at, &value) in &self.bytes {
            if let Some(byte) = packet.get_mut(at as usize) {
                *byte = value;
            }
        }
        let set = self.flips.iter().enumerate().filter(|&(bit, _)| number >> bit & 1 == 1);
        for &(at, mask) in set.flat_map(|(_, flips)| flips) {
            if let Some(byte) = packet.get_mut(at as usize) {
                *byte ^= mask;
            }
        }
    }

    /// Returns the stores that write a packet of the rotation, in the order of their offsets.
    pub(super) fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        for (mut at, mut left) in ranges(self.bytes.keys().copied()) {
            while left > 0 {
                let len = 1 << left.min(8).ilog2();
                words.push(self.word(at, len));
                (at, left) = (at + len, left - len);
            }
        }
        words
    }

    fn word(&self, at: u32, len: u32) -> Word {
        // A store of fewer than eight bytes writes the low ones.
        let shift = |offset: u32| {
            8 * if cfg!(target_endian = "little") { offset } else { len - 1 - offset }
        };
        let range = self.bytes.range(at..at + len);
        let value = range.map(|(&offset, &byte)| u64::from(byte) << shift(offset - at)).sum();
        let mut masks: BTreeMap<i32, u64> = BTreeMap::new();
        for (bit, flips) in (0..).zip(&self.flips) {
            for &(offset, mask) in
                flips.iter().filter(|(offset, _)| (at..at + len).contains(offset))
            {
                let flipped = u64::from(mask) << shift(offset - at);
                let places = (0..64).filter(|place| flipped >> place & 1 == 1);
                for place in places {
                    // Bits that are flipped twice stay as they are.
                    *masks.entry(place - bit).or_default() ^= 1 << place;
                }
            }
        }
        let changes = masks.into_iter().filter(|&(_, mask)| mask != 0);
        Word {
            at,
            len,
            value,
            changes: changes.map(|(left, mask)| Shifted { left, mask }).collect(),
        }
    }
}

/// Returns the ranges of consecutive numbers, each as its first number and its length.
fn ranges(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((start, len)) if *start + *len == number => *len += 1,
            _ => ranges.push((number, 1)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::{Rotation, Word};

    fn rotation() -> Rotation {
        let flips = vec![vec![(27, 1)], vec![(27, 2), (34, 0x80)], vec![(50, 4)]];
        Rotation::new(&(0..40).collect::<Vec<u8>>(), flips, [30])
    }

    #[test]
    fn packets_are_counted() {
        assert_eq!(rotation().count(), Some(8));
        assert_eq!(Rotation::new(&[], vec![], []).count(), Some(1));
        assert_eq!(Rotation::new(&[], vec![vec![(0, 1)]; 31], []).count(), None);
    }

    #[test]
    fn whole_fields_are_written() {
        let words = rotation().words();
        let places: Vec<(u32, u32)> = words.iter().map(|word| (word.at, word.len)).collect();
        assert_eq!(places, [(26, 8), (34, 4), (50, 1)]);
        assert_eq!(rotation().varied(), [(27, 1), (30, 1), (34, 1), (50, 1)]);
        // The last field ends with the packet.
        let short = Rotation::new(&[0; 28], vec![vec![(27, 1)]], []);
        assert_eq!(short.words().iter().map(|word| word.len).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn words_have_the_bytes_of_each_packet() {
        let rotation = rotation();
        for number in 0..8 {
            let mut packet: Vec<u8> = (0..60).collect();
            packet[40..].fill(0);
            rotation.write(number, &mut packet);
            for Word { at, len, value, changes } in rotation.words() {
                let value = changes.iter().fold(value, |value, change| {
                    let number = number as u64;
                    let shifted = match change.left {
                        left @ 0.. => number << left,
                        right => number >> -right,
                    };
                    value ^ (shifted & change.mask)
                });
                let bytes = value.to_ne_bytes();
                let (at, len) = (at as usize, len as usize);
                let low =
                    if cfg!(target_endian = "little") { &bytes[..len] } else { &bytes[8 - len..] };
                assert_eq!(packet[at..at + len], *low, "{number} at {at}");
            }
        }
    }
}
