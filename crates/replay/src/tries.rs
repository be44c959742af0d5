//! Which element of a trie a key finds: the longest prefix that the key has. The lifted program lets
//! it open, so that the interpreter has to be told before a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, Element, MapLayout};
use slowpath_exec::concrete::{Environment, Run};
use slowpath_ir::RegionId;

use crate::entry::{Entry, install_at, set_value};

/// Bytes of a key in front of its prefix, which hold the length of the prefix.
const LENGTH: usize = 4;

/// The prefixes of a trie.
#[derive(Clone, Debug, Default)]
struct Trie {
    /// Keys of the elements; the place in the list is the element's.
    keys: Vec<Vec<u8>>,
    /// By the length of their prefix in bits, places of elements by what is behind the length.
    places: BTreeMap<u32, HashMap<Vec<u8>, usize>>,
}

/// The tries of a program, by the region of their values.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    tries: HashMap<RegionId, Trie>,
    /// Where answers are in memory.
    answers: BTreeSet<RegionId>,
}

impl Trie {
    /// The place of a key's element, which is new or known.
    fn place(&mut self, key: &[u8]) -> usize {
        let next = self.keys.len();
        let prefixes = self.places.entry(prefix_length(key)).or_default();
        let place = *prefixes.entry(prefix(key, prefix_length(key))).or_insert(next);
        if place == next {
            self.keys.push(key.to_owned());
        }
        place
    }

    /// The element whose prefix is the longest that the key starts with, and no longer than its own.
    fn longest(&self, key: &[u8]) -> Option<usize> {
        let length = prefix_length(key);
        if u64::from(length) > 8 * key.len().saturating_sub(LENGTH) as u64 {
            return None;
        }
        let shorter = self.places.range(..=length).rev();
        shorter.filter_map(|(&of, prefixes)| prefixes.get(&prefix(key, of)).copied()).next()
    }
}

impl Tries {
    /// Notes an element that is in the kernel's map.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry, environment: &mut Environment) {
        if layout.kind != MapKind::LPM_TRIE {
            install_at(layout, None, entry, environment);
            return;
        }
        // A longer prefix may answer differently.
        for region in [layout.lengths, layout.present.filter(|_| layout.identity.is_some())] {
            if region.is_some_and(|region| self.answers.remove(&region)) {
                environment.memory.retain(|place, _| Some(place.0) != region);
            }
        }
        let place = self.tries.entry(layout.values).or_default().place(&entry.key);
        if layout.lengths.is_some() {
            let key = cut(&entry.key);
            let entry = Entry { key, value: entry.value.clone() };
            install_at(layout, None, &entry, environment);
            return;
        }
        set_value(layout, place as u64, &entry.value, environment);
    }

    /// Answers look-ups of a run that have no answer yet; whether there were any that find
    /// something.
    pub fn answer(&mut self, maps: &[MapLayout], run: &Run, environment: &mut Environment) -> bool {
        let mut news = false;
        let numbered = |region: RegionId, byte: u8| -> Bytes {
            let numbers = run.interned.values();
            numbers.map(|&number| ((region, number.into()), byte)).collect()
        };
        for layout in maps.iter().filter(|layout| layout.kind == MapKind::LPM_TRIE) {
            if let (Some(lengths), Some(seen)) = (layout.lengths, layout.seen) {
                self.answers.insert(lengths);
                let elements = layout.elements(&numbered(seen, 2), &run.interned);
                news |= self.compared(layout, lengths, elements, environment);
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
                news = true;
                for (n, byte) in (0u64..).zip((found as u32).to_le_bytes()) {
                    environment.memory.insert((identity, (element.number << 2) + n), byte);
                }
            }
        }
        news
    }

    /// Answers look-ups in a trie whose elements are numbered by their keys.
    fn compared(
        &self,
        layout: &MapLayout,
        lengths: RegionId,
        elements: Vec<Element>,
        environment: &mut Environment,
    ) -> bool {
        let mut news = false;
        let trie = self.tries.get(&layout.values);
        for Element { number, key, .. } in elements {
            let Some(key) = key else { continue };
            let place = (lengths, number << 1);
            if environment.memory.contains_key(&place) {
                continue;
            }
            let found = trie.and_then(|trie| trie.keys.get(trie.longest(&key)?));
            let found = found.map_or(0, |key| (prefix_length(key) as u16).saturating_add(1));
            news |= found != 0;
            for (n, byte) in (0u64..).zip(found.to_le_bytes()) {
                environment.memory.insert((lengths, (number << 1) + n), byte);
            }
        }
        news
    }

    /// The elements of a trie with these places.
    pub fn keys(&self, layout: &MapLayout, places: &BTreeSet<u64>) -> Vec<(u64, Vec<u8>)> {
        let Some(trie) = self.tries.get(&layout.values) else { return Vec::new() };
        let key = |place: u64| trie.keys.get(usize::try_from(place).ok()?).cloned();
        places.iter().filter_map(|&at| Some((at, key(at)?))).collect()
    }

    /// All elements of a trie: their places and keys.
    pub fn all(&self, layout: &MapLayout) -> impl Iterator<Item = (u64, &[u8])> {
        let keys = self.tries.get(&layout.values).map_or(&[][..], |trie| &trie.keys);
        (0..).zip(keys.iter().map(Vec::as_slice))
    }

    /// Forgets all elements.
    pub fn clear(&mut self) {
        self.tries.clear();
        self.answers.clear();
    }
}

fn prefix_length(key: &[u8]) -> u32 {
    key.first_chunk().map_or(0, |length| u32::from_le_bytes(*length))
}

/// The first bits of what is behind the length, those behind them cleared.
fn prefix(key: &[u8], bits: u32) -> Vec<u8> {
    let kept = |offset: u32| bits.saturating_sub(8 * offset).min(8);
    let bytes = (0u32..).zip(key.iter().skip(LENGTH));
    bytes.map(|(offset, &byte)| byte & (0xff00u32 >> kept(offset)) as u8).collect()
}

/// A key with the bits behind its prefix cleared: all keys with this prefix are one.
pub fn cut(key: &[u8]) -> Vec<u8> {
    let length = key.iter().take(LENGTH).copied();
    length.chain(prefix(key, prefix_length(key))).collect()
}
