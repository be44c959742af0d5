//! Computes longest-prefix lookups in tries. The lifted program reads the results of these lookups,
//! called answers, from memory. Therefore they must be computed before a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, Element, MapLayout};
use slowpath_exec::concrete::{Environment, Run};
use slowpath_ir::RegionId;

use crate::entry::{Entry, install_at, set_value, write};

/// Number of bytes at the start of a key that contain the length of its prefix.
const LENGTH: usize = 4;

/// The elements of one trie (a map of type `LPM_TRIE`).
#[derive(Clone, Debug, Default)]
struct Trie {
    /// Keys of the elements; the index of a key is the position of its element in memory.
    keys: Vec<Vec<u8>>,
    /// For each prefix length in bits, the positions of the elements by prefix.
    places: BTreeMap<u32, HashMap<Vec<u8>, usize>>,
}

/// All tries of a program. Each trie is identified by the memory region of its values.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    tries: HashMap<RegionId, Trie>,
    /// Regions of the interpreter's memory that contain computed results of trie lookups.
    answers: BTreeSet<RegionId>,
}

impl Trie {
    /// Returns the position of the element with a key. Adds a new key at the next free position.
    fn place(&mut self, key: &[u8]) -> usize {
        let next = self.keys.len();
        let prefixes = self.places.entry(prefix_length(key)).or_default();
        let place = *prefixes.entry(prefix(key, prefix_length(key))).or_insert(next);
        if place == next {
            self.keys.push(key.to_owned());
        }
        place
    }

    /// Returns the position of the element with the longest prefix of the key `key`; `None` if no
    /// prefix matches. Prefixes that are longer than the key's own prefix length do not count.
    fn longest(&self, key: &[u8]) -> Option<usize> {
        let length = prefix_length(key);
        if u64::from(length) > 8 * key.len().saturating_sub(LENGTH) as u64 {
            return None;
        }
        let shorter = self.places.range(..=length).rev();
        shorter.filter_map(|(&bits, prefixes)| prefixes.get(&prefix(key, bits)).copied()).next()
    }
}

impl Tries {
    /// Adds an element of a map in the kernel to the interpreter. Maps of other types than tries
    /// are accepted, too.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry, environment: &mut Environment) {
        if layout.kind != MapKind::LPM_TRIE {
            install_at(layout, None, entry, environment);
            return;
        }
        // A new prefix may change earlier answers, so they are removed.
        for region in [layout.prefix_lengths, layout.present.filter(|_| layout.identity.is_some())]
        {
            if region.is_some_and(|region| self.answers.remove(&region)) {
                environment.memory.retain(|place, _| Some(place.0) != region);
            }
        }
        let place = self.tries.entry(layout.values).or_default().place(&entry.key);
        if layout.prefix_lengths.is_some() {
            let key = clear_after_prefix(&entry.key);
            let entry = Entry { key, value: entry.value.clone() };
            install_at(layout, None, &entry, environment);
            return;
        }
        set_value(layout, place as u64, &entry.value, environment);
    }

    /// Computes the results of a run's trie lookups that were not computed before. Returns true if
    /// any of these lookups finds an element.
    pub fn answer(&mut self, maps: &[MapLayout], run: &Run, environment: &mut Environment) -> bool {
        let mut found_any = false;
        let numbered = |region: RegionId, byte: u8| -> Bytes {
            let numbers = run.interned.values();
            numbers.map(|&number| ((region, number.into()), byte)).collect()
        };
        for layout in maps.iter().filter(|layout| layout.kind == MapKind::LPM_TRIE) {
            if let (Some(lengths), Some(seen)) = (layout.prefix_lengths, layout.first_access) {
                self.answers.insert(lengths);
                let elements = layout.elements(&numbered(seen, 2), &run.interned);
                found_any |= self.answer_by_key(layout, lengths, elements, environment);
                continue;
            }
            let Some(trie) = self.tries.get(&layout.values) else { continue };
            let (Some(present), Some(identity)) = (layout.present, layout.identity) else {
                continue;
            };
            self.answers.insert(present);
            for element in layout.elements(&numbered(present, 1), &run.interned) {
                let place = (present, element.number);
                let Some(key) = element.key.filter(|_| !environment.memory.contains_key(&place))
                else {
                    continue;
                };
                let found = trie.longest(&key);
                environment.memory.insert(place, found.is_some().into());
                let Some(found) = found else { continue };
                found_any = true;
                let bytes = (found as u32).to_le_bytes();
                write(environment, identity, element.number << 2, &bytes);
            }
        }
        found_any
    }

    /// Computes the results of lookups in a trie whose elements are identified by keys, not by
    /// positions. A result is the length in bits of the matching prefix plus 1, or 0 if no prefix
    /// matches. Returns true if any new result is a match.
    fn answer_by_key(
        &self,
        layout: &MapLayout,
        lengths: RegionId,
        elements: Vec<Element>,
        environment: &mut Environment,
    ) -> bool {
        let mut found_any = false;
        let trie = self.tries.get(&layout.values);
        for Element { number, key, .. } in elements {
            let Some(key) = key else { continue };
            let place = (lengths, number << 1);
            if environment.memory.contains_key(&place) {
                continue;
            }
            let found = trie.and_then(|trie| trie.keys.get(trie.longest(&key)?));
            let found = found.map_or(0, |key| (prefix_length(key) as u16).saturating_add(1));
            found_any |= found != 0;
            write(environment, lengths, number << 1, &found.to_le_bytes());
        }
        found_any
    }

    /// Returns the positions and keys of the trie elements at the positions `places`.
    pub fn keys(&self, layout: &MapLayout, places: &BTreeSet<u64>) -> Vec<(u64, Vec<u8>)> {
        let Some(trie) = self.tries.get(&layout.values) else { return Vec::new() };
        let key = |place: u64| trie.keys.get(usize::try_from(place).ok()?).cloned();
        places.iter().filter_map(|&at| Some((at, key(at)?))).collect()
    }

    /// Returns the positions and keys of all elements of a trie.
    pub fn all(&self, layout: &MapLayout) -> impl Iterator<Item = (u64, &[u8])> {
        let keys = self.tries.get(&layout.values).map_or(&[][..], |trie| &trie.keys);
        (0..).zip(keys.iter().map(Vec::as_slice))
    }

    pub fn clear(&mut self) {
        self.tries.clear();
        self.answers.clear();
    }
}

fn prefix_length(key: &[u8]) -> u32 {
    key.first_chunk().map_or(0, |length| u32::from_le_bytes(*length))
}

/// Returns the first `bits` bits of a trie key's data; all later bits are zero. The data follows
/// the key's length field.
fn prefix(key: &[u8], bits: u32) -> Vec<u8> {
    let kept = |offset: u32| bits.saturating_sub(8 * offset).min(8);
    let bytes = (0u32..).zip(key.iter().skip(LENGTH));
    bytes.map(|(offset, &byte)| byte & (0xff00u32 >> kept(offset)) as u8).collect()
}

/// Returns a key with the bits after its prefix cleared, so that keys with the same prefix are
/// equal.
pub fn clear_after_prefix(key: &[u8]) -> Vec<u8> {
    let length = key.iter().take(LENGTH).copied();
    length.chain(prefix(key, prefix_length(key))).collect()
}
