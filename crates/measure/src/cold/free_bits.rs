//! Finds free bits of a packet: bits that decide only which map elements the program touches, and
//! not which path it takes.

use std::collections::BTreeMap;

use super::probe::{Probe, is_array};
use crate::error::MeasureError;

/// Number of bytes at the start of the packet that are searched for free bits.
const SEARCHED_BYTES: usize = 256;
/// Maximum number of free bits that change the same set of keys. It is the binary logarithm of the
/// maximum number of flows. Small maps get fewer bits.
pub const MAX_BITS: usize = 20;
/// Maximum number of changes to the witness packet that make two of its lookups find different map
/// elements instead of the same one.
const MAX_SPLITS: usize = 8;
/// Number of random combinations with other free bits in which a candidate bit is tested.
const COMBINATIONS: usize = 4;

/// A free bit of a packet, or several bits that are flipped together.
#[derive(Clone, Debug, Default)]
pub struct Bit {
    /// Bits to flip, each given as the offset of its byte in the packet and a mask.
    pub flips: Vec<(usize, u8)>,
    /// The change of each looked-up element's key when the bits are flipped, as a mask for
    /// exclusive-or.
    pub changes: Vec<Vec<u8>>,
}

/// The free bits of a packet, which decide only which map elements the program touches.
#[derive(Debug)]
pub struct FreeBits {
    /// Bits that may be flipped in any combination without leaving the path.
    pub bits: Vec<Bit>,
    /// For each map element that the program looks up, true if flipping one of the bits changes its
    /// key.
    pub varies: Vec<bool>,
    /// For each map element that the program looks up: true if flipping several bits changes its
    /// key in another way than flipping them one by one predicts (by exclusive-or of the changes).
    /// This is allowed only for array indices.
    pub computed: Vec<bool>,
}

impl FreeBits {
    /// Finds the free bits of a packet by flipping bits and testing whether the program still takes
    /// the path.
    ///
    /// # Errors
    /// [`MeasureError::NotCold`] if no bit is free.
    pub fn find(probe: &mut Probe) -> Result<FreeBits, MeasureError> {
        let mut candidates = candidates(probe)?;
        for _ in 0..MAX_SPLITS {
            let Some(split) = split_candidates(probe, &candidates)? else { break };
            candidates = split;
        }
        if candidates.is_empty() {
            let reason = if probe.followed {
                "the lookups of the path do not differ between flows"
            } else {
                "the path depends on more than packet and maps, and its earlier lookups do not \
                 differ between flows"
            };
            return Err(MeasureError::not_cold(reason));
        }
        let mut random = Random(1);
        let mut computed = vec![false; probe.targets.len()];
        let mut groups = Vec::new();
        for (targets, flips) in candidates {
            let rooms = targets.iter().map(|&number| probe.targets[number].room(probe.cpus));
            let most = rooms.min().and_then(usize::checked_ilog2).unwrap_or(0) as usize;
            let most = most.min(MAX_BITS);
            let mut group: Vec<Bit> = Vec::new();
            for flip in flips {
                if group.len() < most
                    && let Some(bit) =
                        test_free_bit(probe, flip, &group, &mut computed, &mut random)?
                {
                    group.push(bit);
                }
            }
            groups.push(group);
        }
        let most = groups.iter().map(Vec::len).max().unwrap_or(0);
        // Bits of different groups are flipped together, so that each map gets many different keys.
        let bits: Vec<Bit> = (0..most)
            .map(|number| {
                let together = groups.iter().filter_map(|group| group.get(number));
                together.fold(Bit::default(), |all, bit| all.with(bit))
            })
            .collect();
        if bits.is_empty() {
            let reason = "packets with other lookups take other paths";
            return Err(MeasureError::not_cold(reason));
        }
        let changes = |target: usize| bits.iter().any(|bit| bit.changes_target(target));
        let varies = (0..probe.targets.len()).map(changes).collect();
        Ok(FreeBits { bits, varies, computed })
    }
}

impl Bit {
    /// Combines two bits into one that flips both.
    fn with(mut self, other: &Bit) -> Bit {
        self.flips.extend_from_slice(&other.flips);
        if self.changes.is_empty() {
            self.changes.clone_from(&other.changes);
        } else {
            for (change, more) in self.changes.iter_mut().zip(&other.changes) {
                combine(change, more);
            }
        }
        self
    }

    /// Flips the bits of this value in a packet.
    pub fn flip(&self, packet: &mut [u8]) {
        for &(offset, mask) in &self.flips {
            if let Some(byte) = packet.get_mut(offset) {
                *byte ^= mask;
            }
        }
    }

    fn changes_target(&self, target: usize) -> bool {
        self.changes.get(target).is_some_and(|change| change.iter().any(|&byte| byte != 0))
    }
}

/// Sets `into` to the exclusive-or of itself and `from`.
pub fn combine(into: &mut [u8], from: &[u8]) {
    for (to, &byte) in into.iter_mut().zip(from) {
        *to ^= byte;
    }
}

/// Bits of the packet, each as byte offset and mask, grouped by the looked-up elements whose keys
/// they change. The map's key is the list of these elements, as indices into `Probe::targets`.
type Candidates = BTreeMap<Vec<usize>, Vec<(usize, u8)>>;

/// Finds the bits of the packet that change the key of at least one looked-up element.
fn candidates(probe: &mut Probe) -> Result<Candidates, MeasureError> {
    let mut found: Candidates = BTreeMap::new();
    if probe.targets.is_empty() {
        return Ok(found);
    }
    let mut packet = probe.packet.clone();
    for offset in 0..packet.len().min(SEARCHED_BYTES) {
        for mask in (0..8).map(|bit| 1 << bit) {
            packet[offset] ^= mask;
            let keys = probe.keys(&packet)?;
            packet[offset] ^= mask;
            let changed = keys.iter().zip(&probe.targets).enumerate();
            let changed = changed.filter(|(_, (lookup, target))| {
                lookup.map == target.lookup.map && lookup.key != target.lookup.key
            });
            let changed: Vec<usize> = changed.map(|(number, _)| number).collect();
            if !changed.is_empty() {
                found.entry(changed).or_default().push((offset, mask));
            }
        }
    }
    Ok(found)
}

/// Tries to flip one bit of the packet so that the program looks up more different map elements
/// than before. Returns the candidates in the changed packet, or `None` if there is no such bit.
fn split_candidates(
    probe: &mut Probe,
    all: &Candidates,
) -> Result<Option<Candidates>, MeasureError> {
    for &flip in all.values().flatten() {
        let mut packet = probe.packet.clone();
        Bit { flips: vec![flip], changes: Vec::new() }.flip(&mut packet);
        if probe.split_lookups(&packet)? {
            return Ok(Some(candidates(probe)?));
        }
    }
    Ok(None)
}

/// Tests if a bit is free: if flipping it keeps the path, both alone and together with bits of
/// `group`, which are known to be free. Returns the bit with the changes that it makes to keys, or
/// `None` if it is not free.
fn test_free_bit(
    probe: &mut Probe,
    flip: (usize, u8),
    group: &[Bit],
    computed: &mut [bool],
    random: &mut Random,
) -> Result<Option<Bit>, MeasureError> {
    let mut bit = Bit { flips: vec![flip], changes: Vec::new() };
    let mut packet = probe.packet.clone();
    bit.flip(&mut packet);
    let Some(keys) = probe.follow(&packet)? else { return Ok(None) };
    bit.changes = keys;
    for (change, target) in bit.changes.iter_mut().zip(&probe.targets) {
        combine(change, &target.lookup.key);
    }
    for _ in 0..if group.is_empty() { 0 } else { COMBINATIONS } {
        let mut packet = probe.packet.clone();
        bit.flip(&mut packet);
        let mut expected: Vec<Vec<u8>> = bit.changes.clone();
        for (change, target) in expected.iter_mut().zip(&probe.targets) {
            combine(change, &target.lookup.key);
        }
        for other in group.iter().filter(|_| random.coin()) {
            other.flip(&mut packet);
            for (key, change) in expected.iter_mut().zip(&other.changes) {
                combine(key, change);
            }
        }
        let Some(keys) = probe.follow(&packet)? else { return Ok(None) };
        for (number, (key, expected)) in keys.iter().zip(&expected).enumerate() {
            if key != expected {
                if !is_array(probe.targets[number].map.kind) {
                    return Ok(None);
                }
                computed[number] = true;
            }
        }
    }
    Ok(Some(bit))
}

/// A pseudo-random number generator with a fixed seed (Marsaglia, Xorshift RNGs, 2003).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    fn coin(&mut self) -> bool {
        self.next() & 0x100 != 0
    }
}
