//! Content of maps that stays as it is for as long as a program is loaded: what configures it, which
//! nobody but a control plane writes.
//!
//! What a look-up finds is known as far as its key is: which entries it can be, and whether there can
//! be none. Entries are numbered in their order here.
//!
//! The idea is that of Miano, Sanaee, Risso, Rétvári and Antichi, "Domain specific run time
//! optimization for software data planes" (Morpheus, ASPLOS 2022), section 4.

use crate::fault::{self, Fault};
use slowpath_bpf::lift::{EntryValue, MapContent};
use slowpath_bpf::{MapDef, MapKind, READ_ONLY};
use slowpath_domain::Domain;
use slowpath_ir::KnownBits;
use std::collections::{BTreeMap, BTreeSet};

/// Most elements of a map.
const MOST: u32 = 1024;
/// Most bytes of the values of all maps.
const LARGEST: u32 = 1 << 20;
/// Maps with greater numbers are not frozen: sets of maps have a bit for each.
const NUMBERS: u32 = 64;

/// What is known of the maps of an object, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// The maps whose content is known.
    pub maps: BTreeMap<u32, FrozenMap>,
    /// The number of a read-only map of one element with all their values.
    pub values: u32,
    /// The number of a map of one element whose first 8 bytes are zero for as long as this is true;
    /// `None` if nothing checks it.
    pub generation: Option<u32>,
}

/// How a map finds elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keying {
    /// By equal keys.
    Hash,
    /// By numbers below that of its elements.
    Index,
    /// By the longest prefix: keys begin with a length in bits, of 4 bytes.
    Prefix,
}

/// A map whose content is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenMap {
    keying: Keying,
    key_size: u32,
    value_size: u32,
    /// Keys and values; of an array all.
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where their values begin in the map of values, in bytes.
    first: u32,
}

/// Bytes of which some bits are known; a byte of which nothing is known is `None`.
pub(crate) type KnownBytes = Vec<Option<KnownBits>>;

/// What a look-up can find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// The numbers of entries; of a trie, longer prefixes come first.
    pub entries: Vec<usize>,
    /// Whether it may find none of them.
    pub none: bool,
}

impl Frozen {
    /// The maps of an object with this content, by their numbers, and why others are not among them.
    pub fn of(
        maps: &[MapDef],
        contents: &BTreeMap<u32, MapContent>,
    ) -> (Frozen, BTreeMap<u32, String>) {
        let (mut frozen, mut why) = (Frozen::default(), BTreeMap::new());
        let mut end = 0;
        for (&number, content) in contents {
            let Some(def) = maps.get(number as usize) else { continue };
            if number >= NUMBERS {
                why.insert(number, format!("only the first {NUMBERS} maps of an object are"));
                continue;
            }
            match FrozenMap::of(def, content, end) {
                Ok(map) if map.end() <= LARGEST => {
                    end = map.end();
                    frozen.maps.insert(number, map);
                }
                Ok(_) => _ = why.insert(number, format!("values of more than {LARGEST} bytes")),
                Err(reason) => _ = why.insert(number, reason),
            }
        }
        (frozen, why)
    }

    /// The content of the map of values.
    pub fn value_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for map in self.maps.values() {
            for (number, (_, value)) in map.entries.iter().enumerate() {
                bytes.resize(map.place(number) as usize, 0);
                bytes.extend(value);
            }
            bytes.resize(map.end() as usize, 0);
        }
        bytes
    }

    /// What is known of a map.
    pub(crate) fn map(&self, number: u32) -> Option<&FrozenMap> {
        self.maps.get(&number)
    }
}

impl FrozenMap {
    /// A map with this content, whose values begin there in the map of values.
    fn of(def: &MapDef, content: &MapContent, first: u32) -> Result<FrozenMap, String> {
        let keying = match def.kind {
            MapKind::HASH => Keying::Hash,
            MapKind::ARRAY if def.initial.is_none() => Keying::Index,
            MapKind::LPM_TRIE => Keying::Prefix,
            MapKind::ARRAY => return Err("it holds global data".to_owned()),
            kind => return Err(format!("a {kind} is none of hash, array, lpm_trie")),
        };
        if content.others > 0 {
            return Err("not all its entries are given".to_owned());
        }
        let values = |value: &EntryValue| match value {
            EntryValue::Bytes(bytes) if bytes.len() <= def.value_size as usize => {
                let mut bytes = bytes.clone();
                bytes.resize(def.value_size as usize, 0);
                Some(bytes)
            }
            _ => None,
        };
        let mut entries = Vec::new();
        for entry in &content.entries {
            let value = values(&entry.value).filter(|_| entry.key.len() == def.key_size as usize);
            entries.push((entry.key.clone(), value.ok_or("its entries are not of its sizes")?));
        }
        if keying == Keying::Prefix && def.key_size <= 4 {
            return Err("its keys are too short".to_owned());
        }
        let most = if keying == Keying::Index { def.max_entries } else { entries.len() as u32 };
        if most > MOST {
            return Err(format!("it has {most} elements, more than {MOST}"));
        }
        if keying == Keying::Index {
            let given: BTreeMap<Vec<u8>, Vec<u8>> = entries.into_iter().collect();
            let zero = vec![0; def.value_size as usize];
            let element = |index: u32| {
                let key = index.to_le_bytes().to_vec();
                let value = given.get(&key).unwrap_or(&zero).clone();
                (key, value)
            };
            entries = (0..def.max_entries).map(element).collect();
        }
        if keying == Keying::Prefix {
            // Stable: the order of others does not matter.
            entries.sort_by_key(|(key, _)| std::cmp::Reverse(prefix(key)));
        }
        let map = FrozenMap {
            keying,
            key_size: def.key_size,
            value_size: def.value_size,
            entries,
            first,
        };
        let all = u64::from(first) + map.entries.len() as u64 * u64::from(map.stride());
        match u32::try_from(all) {
            Ok(_) => Ok(map),
            Err(_) => Err("its values are too large".to_owned()),
        }
    }

    /// Bytes between values in the map of values.
    fn stride(&self) -> u32 {
        self.value_size.next_multiple_of(8)
    }

    /// Where the value of an entry is in the map of values.
    pub(crate) fn place(&self, entry: usize) -> u32 {
        self.first + entry as u32 * self.stride()
    }

    fn end(&self) -> u32 {
        self.place(self.entries.len())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// In bytes.
    pub(crate) fn key_size(&self) -> u32 {
        self.key_size
    }

    /// Whether a look-up costs more than a few instructions: the kernel makes those in arrays part of
    /// the program.
    pub(crate) fn is_searched(&self) -> bool {
        self.keying != Keying::Index
    }

    /// Whether keys are prefixes.
    pub(crate) fn has_prefixes(&self) -> bool {
        self.keying == Keying::Prefix
    }

    /// The bytes of a key that tell an entry from others: how each has to be, with its mask; bytes
    /// that do not matter have mask 0.
    pub(crate) fn pattern(&self, entry: usize) -> Vec<KnownOrNot> {
        let key = &self.entries[entry].0;
        match self.keying {
            Keying::Hash | Keying::Index => key.iter().map(|&byte| (0xff, byte)).collect(),
            Keying::Prefix => {
                let mut left = prefix(key);
                let mut pattern = vec![(0, 0); 4];
                for &byte in &key[4..] {
                    let bits = left.min(8);
                    left -= bits;
                    let mask = !(0xff_u16 >> bits) as u8;
                    pattern.push((mask, byte & mask));
                }
                pattern
            }
        }
    }

    /// What a look-up of a key can find; `index` is the key as a number, of an array.
    pub(crate) fn candidates(&self, key: &KnownBytes, index: Option<Domain>) -> Candidates {
        let all = 0..self.entries.len();
        match self.keying {
            Keying::Hash => {
                let entries: Vec<usize> = all.filter(|&entry| self.fits(key, entry).0).collect();
                let found = entries.iter().any(|&entry| self.fits(key, entry).1);
                Candidates { entries, none: !found }
            }
            Keying::Index => {
                let index = index.unwrap_or(Domain::range(64, 0, u64::from(u32::MAX)));
                let inside =
                    |&entry: &usize| index.contains(entry as u64) && self.fits(key, entry).0;
                let none = index.hi() >= self.entries.len() as u64;
                Candidates { entries: all.filter(inside).collect(), none }
            }
            Keying::Prefix => {
                let length = key.iter().take(4).rev().try_fold(0_u32, |length, byte| {
                    Some(length << 8 | u32::from((*byte)?.constant()?))
                });
                let most = 8 * (self.key_size - 4);
                if length.is_some_and(|length| length > most) {
                    return Candidates { entries: Vec::new(), none: true };
                }
                let mut entries = Vec::new();
                for entry in all {
                    let own = prefix(&self.entries[entry].0);
                    let (possible, certain) = self.fits(key, entry);
                    if !possible || length.is_some_and(|length| length < own) {
                        continue;
                    }
                    entries.push(entry);
                    // Shorter prefixes come behind it.
                    if certain && length.is_some() {
                        return Candidates { entries, none: false };
                    }
                }
                Candidates { entries, none: true }
            }
        }
    }

    /// Whether a key may be that of an entry, and whether it is for sure.
    fn fits(&self, key: &KnownBytes, entry: usize) -> (bool, bool) {
        let (mut possible, mut certain) = (true, true);
        let nothing = KnownBits { mask: 0, value: 0 };
        for (place, (mask, value)) in self.pattern(entry).into_iter().enumerate() {
            let known = key.get(place).copied().flatten().unwrap_or(nothing);
            possible &= (known.value ^ value) & known.mask & mask == 0;
            certain &= mask & !known.mask == 0;
        }
        (possible, possible && certain)
    }

    /// What bytes of the values of these entries hold, as far as all have the same bits: a
    /// little-endian number of 64 bits. `None` if they are not all there.
    pub(crate) fn value(
        &self,
        entries: impl Iterator<Item = usize>,
        offset: i64,
        bytes: u8,
    ) -> Option<Domain> {
        let first = usize::try_from(offset).ok()?;
        let end = first.checked_add(bytes.into())?;
        let (mut zeros, mut ones) = (u64::MAX, u64::MAX);
        let mut any = false;
        let one = fault::has(Fault::OneEntryOnly);
        for entry in entries.take(if one { 1 } else { usize::MAX }) {
            let value = self.entries.get(entry)?.1.get(first..end)?;
            let number = value.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
            (zeros, ones, any) = (zeros & !number, ones & number, true);
        }
        any.then(|| Domain::from_bits(64, zeros, ones))
    }
}

/// A mask, and what the bits in it are.
pub(crate) type KnownOrNot = (u8, u8);

/// The length of a prefix, in bits.
fn prefix(key: &[u8]) -> u32 {
    let length =
        key.iter().take(4).rev().fold(0_u32, |length, &byte| length << 8 | u32::from(byte));
    length.min(8 * key.len().saturating_sub(4) as u32)
}

/// Maps of an object that programs cannot write, whatever they do.
pub(crate) fn is_read_only(def: &MapDef) -> bool {
    def.read_only || def.flags & READ_ONLY != 0
}

/// The numbers of entries in a set of them.
pub(crate) fn numbers(among: u64, of: usize) -> impl Iterator<Item = usize> {
    (0..of).filter(move |&entry| among == ANY || entry < 63 && among >> entry & 1 == 1)
}

/// A set of entries: all of them.
pub(crate) const ANY: u64 = u64::MAX;

/// A set of entries, all if it has too great numbers.
pub(crate) fn set(entries: &[usize]) -> u64 {
    let numbers: BTreeSet<usize> = entries.iter().copied().collect();
    if numbers.last().is_some_and(|&greatest| greatest >= 63) {
        return ANY;
    }
    numbers.into_iter().fold(0, |set, entry| set | 1 << entry)
}

#[cfg(test)]
mod tests;
