//! Frozen maps: maps that only a control plane writes, and whose content stays the same while a
//! program is loaded.
//!
//! The known part of a key determines the possible results of a look-up: the entries that it can
//! find, and whether it can fail. An entry is identified by its index in [`FrozenMap`].
//!
//! The idea is that of Miano, Sanaee, Risso, Rétvári and Antichi, "Domain specific run time
//! optimization for software data planes" (Morpheus, ASPLOS 2022), section 4.

use crate::fault::{self, Fault};
use slowpath_bpf::lift::{EntryValue, MapContent};
use slowpath_bpf::{MapDef, MapKind, READ_ONLY};
use slowpath_domain::Domain;
use slowpath_ir::KnownBits;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of elements of a map that can be frozen, so that rewriting can use its content.
const MOST: u32 = 1024;
/// Maximum total size in bytes of the values of all frozen maps.
const LARGEST: u32 = 1 << 20;
/// Only maps with an index below this limit can be frozen, because sets of maps are 64-bit masks.
const NUMBERS: u32 = 64;

/// The frozen maps of an object, with their content.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// The frozen maps, by their index in the object.
    pub maps: BTreeMap<u32, FrozenMap>,
    /// Index in the object of an additional map that contains the values of all frozen maps. It is
    /// read-only and has one element.
    pub values: u32,
    /// Index of the map whose only element contains the generation, a number that a control plane
    /// sets before it changes a frozen map. The first 8 bytes are zero as long as the frozen
    /// content is valid. `None` if the program does not check the generation.
    pub generation: Option<u32>,
}

/// The way in which a map finds the entry for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LookupMethod {
    /// The entry has the same key, as in a hash map.
    Hash,
    /// The key is the index of the entry, as in an array.
    Index,
    /// The entry has the longest prefix that matches the key, as in a trie. Each key begins with
    /// the length of its prefix in bits (4 bytes).
    Prefix,
}

/// A map whose content is known and does not change while a program is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenMap {
    keying: LookupMethod,
    key_size: u32,
    value_size: u32,
    /// Key and value of each map entry. An array map has an entry for every element.
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Offset in bytes of the map's first value in the map that contains all values.
    first: u32,
}

/// The known bits of a map key, for each of its bytes. `None` if no bit of the byte is known.
pub(crate) type KnownBytes = Vec<Option<KnownBits>>;

/// The results that a look-up in a frozen map can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// Indices of the map entries that can be found. In a trie, entries with longer prefixes come
    /// first.
    pub entries: Vec<usize>,
    /// True if the look-up may find no entry.
    pub none: bool,
}

impl Frozen {
    /// Creates frozen maps from the contents of maps, given by map index. Also returns the reasons
    /// why other maps cannot be frozen, by map index.
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

    /// Returns the content of the map that contains the values of all frozen maps.
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

    /// Returns the frozen map with this index in the object; `None` if the map is not frozen.
    pub(crate) fn map(&self, number: u32) -> Option<&FrozenMap> {
        self.maps.get(&number)
    }
}

impl FrozenMap {
    /// Creates a frozen map. `first` is the offset of its first value in the map that contains all
    /// values.
    fn of(def: &MapDef, content: &MapContent, first: u32) -> Result<FrozenMap, String> {
        let keying = match def.kind {
            MapKind::HASH => LookupMethod::Hash,
            MapKind::ARRAY if def.initial.is_none() => LookupMethod::Index,
            MapKind::LPM_TRIE => LookupMethod::Prefix,
            MapKind::ARRAY => return Err("the map holds global data".to_owned()),
            kind => return Err(format!("the map is a {kind}, not a hash, array or lpm_trie")),
        };
        if content.others > 0 {
            return Err("not all entries of the map are given".to_owned());
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
            entries.push((entry.key.clone(), value.ok_or("entries of the map have wrong sizes")?));
        }
        if keying == LookupMethod::Prefix && def.key_size <= 4 {
            return Err("keys of the map are too short".to_owned());
        }
        let most =
            if keying == LookupMethod::Index { def.max_entries } else { entries.len() as u32 };
        if most > MOST {
            return Err(format!("the map has {most} elements, more than {MOST}"));
        }
        if keying == LookupMethod::Index {
            let given: BTreeMap<Vec<u8>, Vec<u8>> = entries.into_iter().collect();
            let zero = vec![0; def.value_size as usize];
            let element = |index: u32| {
                let key = index.to_le_bytes().to_vec();
                let value = given.get(&key).unwrap_or(&zero).clone();
                (key, value)
            };
            entries = (0..def.max_entries).map(element).collect();
        }
        if keying == LookupMethod::Prefix {
            // The sort is stable; the order of prefixes of equal length does not matter.
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
            Err(_) => Err("values of the map are too large".to_owned()),
        }
    }

    /// Returns the distance in bytes between the values of two consecutive entries in the map that
    /// contains all values.
    fn stride(&self) -> u32 {
        self.value_size.next_multiple_of(8)
    }

    /// Returns the offset in bytes of an entry's value in the map that contains the values of all
    /// frozen maps.
    pub(crate) fn place(&self, entry: usize) -> u32 {
        self.first + entry as u32 * self.stride()
    }

    fn end(&self) -> u32 {
        self.place(self.entries.len())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the size of a key of the map in bytes.
    pub(crate) fn key_size(&self) -> u32 {
        self.key_size
    }

    /// Returns true if a look-up in the map costs more than a few instructions. The kernel inlines
    /// look-ups in arrays, so they are cheap.
    pub(crate) fn is_searched(&self) -> bool {
        self.keying != LookupMethod::Index
    }

    /// Returns true if keys are prefixes, as in a trie.
    pub(crate) fn has_prefixes(&self) -> bool {
        self.keying == LookupMethod::Prefix
    }

    /// Returns a mask and a value for each byte of an entry's key. A key matches if its bits under
    /// each mask have the given value. The mask is 0 for bytes that do not matter.
    pub(crate) fn pattern(&self, entry: usize) -> Vec<MaskedByte> {
        let key = &self.entries[entry].0;
        match self.keying {
            LookupMethod::Hash | LookupMethod::Index => {
                key.iter().map(|&byte| (0xff, byte)).collect()
            }
            LookupMethod::Prefix => {
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

    /// Returns the entries that a look-up can find, and whether it can fail. `key` contains the
    /// known bits of the key. For an array, `index` is the key as a number.
    pub(crate) fn candidates(&self, key: &KnownBytes, index: Option<Domain>) -> Candidates {
        let all = 0..self.entries.len();
        match self.keying {
            LookupMethod::Hash => {
                let entries: Vec<usize> = all.filter(|&entry| self.fits(key, entry).0).collect();
                let found = entries.iter().any(|&entry| self.fits(key, entry).1);
                Candidates { entries, none: !found }
            }
            LookupMethod::Index => {
                let index = index.unwrap_or(Domain::range(64, 0, u64::from(u32::MAX)));
                let inside =
                    |&entry: &usize| index.contains(entry as u64) && self.fits(key, entry).0;
                let none = index.hi() >= self.entries.len() as u64;
                Candidates { entries: all.filter(inside).collect(), none }
            }
            LookupMethod::Prefix => {
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
                    // All following entries have shorter prefixes, so they cannot be found.
                    if certain && length.is_some() {
                        return Candidates { entries, none: false };
                    }
                }
                Candidates { entries, none: true }
            }
        }
    }

    /// Returns two flags: true if a key with these known bits can match the entry, and true if it
    /// certainly matches.
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

    /// Returns the set of numbers that a load of `bytes` bytes at `offset` can read from the values
    /// of these entries, as known bits (little-endian). Returns `None` if there are no entries, or
    /// if the bytes are not inside the value.
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

/// A condition on a byte: a mask, and the required value of the byte's bits under the mask.
pub(crate) type MaskedByte = (u8, u8);

/// Returns the prefix length of a trie key in bits, which the first 4 bytes of the key contain.
fn prefix(key: &[u8]) -> u32 {
    let length =
        key.iter().take(4).rev().fold(0_u32, |length, &byte| length << 8 | u32::from(byte));
    length.min(8 * key.len().saturating_sub(4) as u32)
}

/// Returns true if the definition of a map forbids BPF programs to write it.
pub(crate) fn is_read_only(def: &MapDef) -> bool {
    def.read_only || def.flags & READ_ONLY != 0
}

/// Lists the indices of the map entries in the bit mask `among`. The map has `of` entries.
pub(crate) fn numbers(among: u64, of: usize) -> impl Iterator<Item = usize> {
    (0..of).filter(move |&entry| among == ALL_ENTRIES || entry < 63 && among >> entry & 1 == 1)
}

/// Bit mask that stands for all entries of a map, however many there are.
pub(crate) const ALL_ENTRIES: u64 = u64::MAX;

/// Converts indices of map entries to a bit mask. Returns [`ALL_ENTRIES`] if an index is larger
/// than 62.
pub(crate) fn set(entries: &[usize]) -> u64 {
    let numbers: BTreeSet<usize> = entries.iter().copied().collect();
    if numbers.last().is_some_and(|&greatest| greatest >= 63) {
        return ALL_ENTRIES;
    }
    numbers.into_iter().fold(0, |set, entry| set | 1 << entry)
}

#[cfg(test)]
mod tests;
