//! Makes packets of many flows, and the map elements that the program looks up for these packets.

use std::collections::BTreeSet;

use slowpath_bpf::MapKind;
use slowpath_kernel::LoadedProgram;
use slowpath_kernel::timing::Rotation;

use super::free_bits::{Bit, FreeBits, MAX_BITS, Random, combine};
use super::probe::{Probe, Target, is_array};
use crate::error::MeasureError;

/// Intended total size of all map elements, as a multiple of the size of the last-level cache.
const CACHE_MULTIPLE: u64 = 2;
/// Memory in bytes that the kernel needs to manage an element of a hash map or trie, about a cache
/// line (`struct htab_elem` of `kernel/bpf/hashtab.c`).
const ELEMENT_OVERHEAD: u64 = 64;
/// Memory in bytes of a bucket of a hash map (`struct bucket`).
const BUCKET: u64 = 16;
/// Maximum number of elements that are added to a map to fill it. Maps are filled if lookups find
/// nothing in them.
const MAX_OTHERS: usize = 1 << 16;
/// Maximum size of an array map, in elements. Arrays that many flows use are filled completely.
const MAX_FILLED: u32 = 1 << 20;

/// Elements that are added to one map, all with the same value.
#[derive(Clone, Debug)]
struct Fill {
    map: String,
    /// Keys of the elements, concatenated.
    keys: Vec<u8>,
    value: Vec<u8>,
}

/// The packets of many flows, and the map elements that the program looks up for them.
#[derive(Clone, Debug)]
pub struct Flows {
    rotation: Rotation,
    count: usize,
    fills: Vec<Fill>,
    entry_bytes: u64,
    limited: Option<String>,
}

impl Flows {
    /// Makes enough flows for their map elements to exceed a last-level cache of `cache_bytes`
    /// bytes, but at most `most` flows.
    ///
    /// # Errors
    /// [`MeasureError::NotCold`] if an array is too large to be filled, or the path needs different
    /// values in it.
    pub fn new(
        probe: &Probe,
        free_bits: &FreeBits,
        most: usize,
        cache_bytes: u64,
    ) -> Result<Flows, MeasureError> {
        let (count, reason) = flow_count(probe, free_bits, most, cache_bytes);
        let mut fills = Vec::new();
        let mut entry_bytes = 0;
        for (number, target) in probe.targets.iter().enumerate() {
            if !free_bits.varies[number] && !target.added {
                continue;
            }
            let computed = free_bits.computed[number];
            let keys = if computed {
                indices(probe, target)?
            } else {
                keys(target, free_bits, number, count)
            };
            let touched = keys.len().min(count).min(places(target, probe.cpus)) as u64;
            entry_bytes += touched * size(target);
            if let Some(value) = &target.value {
                let map = target.lookup.map.clone();
                let keys = keys.into_iter().flatten().collect();
                fills.push(Fill { map, keys, value: value.clone() });
            }
        }
        fills.extend(other_elements(probe, free_bits, count));
        let limited = (entry_bytes < cache_bytes).then(|| {
            format!(
                "the elements of all flows, {entry_bytes} bytes, fit into the last-level cache of \
                 {cache_bytes} bytes: {reason}"
            )
        });
        let rotation = rotation(probe, free_bits, count);
        Ok(Flows { rotation, count, fills, entry_bytes, limited })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns a rotation over the packets of the flows.
    pub fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    pub fn entry_bytes(&self) -> u64 {
        self.entry_bytes
    }

    /// Returns the reason why the map elements of all flows together are not larger than the
    /// last-level cache. Returns `None` if they are larger.
    pub fn limited(&self) -> Option<&str> {
        self.limited.as_deref()
    }

    /// Puts the map elements of all flows into the maps of a program.
    ///
    /// # Errors
    /// If the kernel does not accept an element.
    pub fn fill(&self, program: &LoadedProgram) -> Result<(), MeasureError> {
        for fill in &self.fills {
            let Some(map) = program.map(&fill.map) else { continue };
            map.update_each(&fill.keys, &fill.value)?;
        }
        Ok(())
    }
}

/// Returns the number of flows to make, a power of two, and the reason why this number cannot be
/// larger.
fn flow_count(
    probe: &Probe,
    free_bits: &FreeBits,
    most: usize,
    cache_bytes: u64,
) -> (usize, String) {
    let varied = || {
        let targets = probe.targets.iter().zip(&free_bits.varies);
        targets.filter(|&(_, &varies)| varies).map(|(target, _)| target)
    };
    let bits = free_bits.bits.len();
    let reason = if bits < MAX_BITS {
        "no further bits of the packet can vary".to_owned()
    } else {
        format!("measurements use no more than {} packets", 1 << MAX_BITS)
    };
    let limits = [
        (1 << bits.min(MAX_BITS), reason),
        (most, "some of more packets take another path".to_owned()),
    ];
    let (limit, mut reason) =
        limits.into_iter().min_by_key(|limit| limit.0).unwrap_or((0, String::new()));
    let limit = if limit == 0 { 0 } else { 1 << limit.ilog2() };
    let bytes = |count: usize| -> u64 {
        let touched = |target: &Target| count.min(places(target, probe.cpus)) as u64 * size(target);
        varied().map(touched).sum()
    };
    let mut count = 1;
    while count < limit
        && bytes(count) < CACHE_MULTIPLE * cache_bytes
        && bytes(2 * count) > bytes(count)
    {
        count *= 2;
    }
    if varied().all(|target| places(target, probe.cpus) < 2 * count)
        && let Some(target) = varied().next_back()
    {
        let (name, most) = (&target.lookup.map, target.map.max_entries);
        reason = format!("{name} has room for no more than {most}");
    }
    (count.min(limit), reason)
}

/// Returns the maximum number of different places in memory that the lookup of `target` touches,
/// over all flows. A place is a map element, or a hash bucket if the map does not contain the
/// element.
fn places(target: &Target, cpus: usize) -> usize {
    let elements = target.map.max_entries as usize;
    match &target.value {
        None => elements.next_power_of_two(),
        Some(_) if is_array(target.map.kind) => elements,
        Some(_) => target.room(cpus),
    }
}

/// Returns the number of bytes of memory that a lookup of the map element `target` touches.
fn size(target: &Target) -> u64 {
    let value = u64::from(target.map.value_size).next_multiple_of(8);
    match (&target.value, target.map.kind) {
        (Some(_), MapKind::ARRAY | MapKind::PERCPU_ARRAY) => value,
        (Some(_), _) => {
            u64::from(target.map.key_size).next_multiple_of(8) + value + ELEMENT_OVERHEAD
        }
        // The search ends at another element.
        (None, MapKind::LPM_TRIE) => ELEMENT_OVERHEAD,
        (None, _) => BUCKET + ELEMENT_OVERHEAD,
    }
}

/// Returns the keys that the first `count` flows look up at the point at which the witness packet
/// looks up `target`. `number` is the index of `target` among the lookups of the witness packet.
fn keys(target: &Target, free_bits: &FreeBits, number: usize, count: usize) -> BTreeSet<Vec<u8>> {
    let mut all = BTreeSet::new();
    for flow in 0..count {
        let mut key = target.lookup.key.clone();
        for bit in flipped_bits(free_bits, flow) {
            if let Some(change) = bit.changes.get(number) {
                combine(&mut key, change);
            }
        }
        all.insert(key);
    }
    all
}

/// Returns additional elements for the maps in which the flows find nothing. With them, the lookups
/// search full maps. No flow looks up any of these elements.
fn other_elements(probe: &Probe, free_bits: &FreeBits, count: usize) -> Vec<Fill> {
    let mut maps = BTreeSet::new();
    let searched = probe.targets.iter().zip(&free_bits.varies);
    let searched = searched.filter(|(target, varies)| **varies && target.value.is_none());
    let searched = searched.map(|(target, _)| target).filter(|target| {
        let kinds = [MapKind::HASH, MapKind::PERCPU_HASH, MapKind::LPM_TRIE];
        kinds.contains(&target.map.kind) && maps.insert(target.lookup.map.clone())
    });
    searched.map(|target| fill_with_others(probe, free_bits, (target, count))).collect()
}

fn fill_with_others(
    probe: &Probe,
    free_bits: &FreeBits,
    (target, count): (&Target, usize),
) -> Fill {
    let in_map = probe.targets.iter().enumerate();
    let in_map = in_map.filter(|(_, other)| other.lookup.map == target.lookup.map);
    // In tries, the first bytes of a key are the length of its prefix.
    let prefix = if target.map.kind == MapKind::LPM_TRIE { size_of::<u32>() } else { 0 };
    let mut taken: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut present = target.present;
    for (number, other) in in_map {
        let keys = keys(other, free_bits, number, count);
        present += if other.value.is_some() { keys.len() } else { 0 };
        taken.extend(keys.into_iter().map(|key| key[prefix.min(key.len())..].to_vec()));
    }
    let len = target.lookup.key.len().saturating_sub(prefix);
    let bits = u32::try_from(8 * len).unwrap_or(u32::MAX);
    let room = (target.map.max_entries as usize).saturating_sub(present).min(MAX_OTHERS);
    let (mut random, mut keys) = (Random(1), Vec::new());
    for _ in 0..room {
        let key: Vec<u8> = (0..len).map(|_| random.byte()).collect();
        if taken.insert(key.clone()) {
            keys.extend(bits.to_ne_bytes().into_iter().take(prefix));
            keys.extend(key);
        }
    }
    let value = vec![0; target.map.value_size as usize];
    Fill { map: target.lookup.map.clone(), keys, value }
}

/// Returns the free bits to flip in the witness packet for the flow with index `flow`. Bit `i` of
/// this index decides whether free bit `i` is flipped.
fn flipped_bits(free_bits: &FreeBits, flow: usize) -> impl Iterator<Item = &Bit> {
    let bits = free_bits.bits.iter().enumerate();
    bits.filter(move |(number, _)| flow >> number & 1 == 1).map(|(_, bit)| bit)
}

/// Returns the keys of all elements of the array map that contains `target`.
///
/// Fails if the array is too large, or if the path needs elements with different values in it.
fn indices(probe: &Probe, target: &Target) -> Result<BTreeSet<Vec<u8>>, MeasureError> {
    let name = &target.lookup.map;
    let same = probe.targets.iter().filter(|other| other.lookup.map == *name);
    if same.clone().any(|other| other.value != target.value) {
        return Err(MeasureError::not_cold(format!(
            "the path needs elements of {name} that differ"
        )));
    }
    if target.map.max_entries > MAX_FILLED {
        return Err(MeasureError::not_cold(format!(
            "{name} is too large to be filled for each flow"
        )));
    }
    Ok((0..target.map.max_entries).map(|index| index.to_ne_bytes().to_vec()).collect())
}

/// Returns a rotation over the packets of `count` flows, which are the probe's packet with
/// different free bits flipped.
fn rotation(probe: &Probe, free_bits: &FreeBits, count: usize) -> Rotation {
    let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    let bits = free_bits.bits.iter().take(count.checked_ilog2().unwrap_or(0) as usize);
    let flips = bits.map(|bit| bit.flips.iter().map(|&(at, mask)| (offset(at), mask)).collect());
    Rotation::new(&probe.packet, flips.collect(), probe.moved.iter().map(|&at| offset(at)))
}
