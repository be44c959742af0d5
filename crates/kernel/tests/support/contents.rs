//! Elements that are in maps before a run, in the environment of the interpreter.
//!
//! Which element of a trie a key finds is worked out here: the longest prefix that the key has.

use std::collections::{BTreeSet, HashMap};

use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Bytes, Element, Keying, MapLayout};
use slowpath_exec::concrete::{Environment, Run};
use slowpath_ir::RegionId;

/// An element.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// Keys of the tries' elements, by the trie's values; the place in the list is the element's.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    keys: HashMap<RegionId, Vec<Vec<u8>>>,
}

impl Tries {
    /// Notes an element that is in the kernel's map.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry, environment: &mut Environment) {
        let number = if layout.kind == MapKind::LPM_TRIE {
            let keys = self.keys.entry(layout.values).or_default();
            let known = keys.iter().position(|key| same_prefix(key, &entry.key));
            let place = known.unwrap_or_else(|| {
                keys.push(entry.key.clone());
                keys.len() - 1
            });
            if layout.lengths.is_some() {
                let mut entry = entry.clone();
                cut(&mut entry.key);
                return install_at(layout, None, &entry, environment);
            }
            place as u64
        } else {
            return install_at(layout, None, entry, environment);
        };
        set_value(layout, number, entry, environment);
    }

    /// Answers look-ups of a run that have no answer yet; whether there were any that find
    /// something.
    pub fn answer(&self, maps: &[MapLayout], run: &Run, environment: &mut Environment) -> bool {
        let mut news = false;
        for layout in maps {
            if let (Some(lengths), Some(seen)) = (layout.lengths, layout.seen) {
                let numbers = run.interned.values().map(|&number| ((seen, number.into()), 2));
                let bytes: Bytes = numbers.collect();
                let elements = layout.elements(&bytes, &run.interned);
                news |= self.compared(layout, lengths, elements, environment);
                continue;
            }
            let Some(keys) = self.keys.get(&layout.values) else { continue };
            let (Some(present), Some(identity)) = (layout.present, layout.identity) else {
                continue;
            };
            let bytes: Bytes =
                run.interned.values().map(|&number| ((present, number.into()), 1)).collect();
            for element in layout.elements(&bytes, &run.interned) {
                let place = (present, element.number);
                let Some(key) = element.key.filter(|_| !environment.memory.contains_key(&place))
                else {
                    continue;
                };
                let found = longest(keys, &key);
                environment.memory.insert(place, found.is_some().into());
                let Some(found) = found else { continue };
                news = true;
                for (n, byte) in (found as u32).to_le_bytes().into_iter().enumerate() {
                    let place = (identity, (element.number << 2) + n as u64);
                    environment.memory.insert(place, byte);
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
        let none = Vec::new();
        let keys = self.keys.get(&layout.values).unwrap_or(&none);
        for Element { number, key, .. } in elements {
            let Some(key) = key else { continue };
            let place = (lengths, number << 1);
            if environment.memory.contains_key(&place) {
                continue;
            }
            let found = longest(keys, &key).map_or(0, |at| prefix_length(&keys[at]) as u16 + 1);
            news |= found != 0;
            for (n, byte) in (0u64..).zip(found.to_le_bytes()) {
                environment.memory.insert((lengths, (number << 1) + n), byte);
            }
        }
        news
    }

    /// The elements of a trie with these places.
    pub fn keys(&self, layout: &MapLayout, places: &BTreeSet<u64>) -> Vec<(u64, Vec<u8>)> {
        let keys = self.keys.get(&layout.values).map_or(&[][..], Vec::as_slice);
        let known = places.iter().filter_map(|&at| Some((at, keys.get(at as usize)?.clone())));
        known.collect()
    }
}

/// Notes an element of a map, which is the one at an address if that is given.
pub fn install_at(
    layout: &MapLayout,
    which: Option<u64>,
    entry: &Entry,
    environment: &mut Environment,
) {
    let number = number(layout, which, &entry.key, environment);
    if let Some(present) = layout.present {
        environment.memory.insert((present, number), 1);
    }
    set_value(layout, number, entry, environment);
}

fn set_value(layout: &MapLayout, number: u64, entry: &Entry, environment: &mut Environment) {
    let start = number << layout.element_bits;
    for (offset, &byte) in entry.value.iter().enumerate() {
        environment.memory.insert((layout.values, start + offset as u64), byte);
    }
}

/// The number of the element with a key: the key itself, or what stands for its words from now on.
fn number(
    layout: &MapLayout,
    which: Option<u64>,
    key: &[u8],
    environment: &mut Environment,
) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    if layout.keying != Keying::Interned {
        return word(key);
    }
    let mut words: Vec<u64> = which.into_iter().chain(key.chunks(8).map(word)).collect();
    words.resize(words.len().max(2), 0);
    let mut number = intern((words[0], words[1]), environment);
    for &next in &words[2..] {
        number = intern((number, next), environment);
    }
    number
}

/// The number of a pair.
pub fn intern(pair: (u64, u64), environment: &mut Environment) -> u64 {
    let free = environment.interned.values().max().map_or(0, |number| number + 1);
    (*environment.interned.entry(pair).or_insert(free)).into()
}

fn prefix_length(key: &[u8]) -> usize {
    u32::from_le_bytes([key[0], key[1], key[2], key[3]]) as usize
}

fn bit(key: &[u8], at: usize) -> bool {
    key.get(4 + at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
}

/// Clears the bits of a trie's key behind its prefix.
pub fn cut(key: &mut [u8]) {
    let length = prefix_length(key);
    for (offset, byte) in key[4..].iter_mut().enumerate() {
        let bits = length.saturating_sub(8 * offset).min(8) as u32;
        *byte &= (0xff00u32 >> bits) as u8;
    }
}

fn same_prefix(a: &[u8], b: &[u8]) -> bool {
    let length = prefix_length(a);
    length == prefix_length(b) && (0..length).all(|at| bit(a, at) == bit(b, at))
}

/// The element whose prefix is the longest that the key starts with, and no longer than its own.
fn longest(keys: &[Vec<u8>], key: &[u8]) -> Option<usize> {
    let length = prefix_length(key);
    if length > 8 * (key.len() - 4) {
        return None;
    }
    let fits = |other: &Vec<u8>| {
        let of = prefix_length(other);
        of <= length && (0..of).all(|at| bit(other, at) == bit(key, at))
    };
    let fitting = keys.iter().enumerate().filter(|(_, key)| fits(key));
    fitting.max_by_key(|(_, key)| prefix_length(key)).map(|(at, _)| at)
}
