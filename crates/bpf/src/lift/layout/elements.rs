//! Converts bytes of memory regions back to map elements with keys and values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use slowpath_ir::RegionId;

use crate::lift::layout::memory::{Keying, MapLayout, PRESENT};

/// A map element, as far as the known bytes of memory determine it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Number that identifies the element in the map, see [`MapLayout`].
    pub number: u64,
    /// Key of the element; `None` if its number does not determine the key.
    pub key: Option<Vec<u8>>,
    /// Address of the inner map that contains the element, for maps in a map of maps. `None` for
    /// other maps, and for an unknown address.
    pub map_address: Option<u64>,
    /// For an element of a map of maps: number of the inner map that is its value, if known. The
    /// number times the distance between elements is the inner map's offset from the start of
    /// [`MapLayout::values`].
    pub inner_map: Option<u64>,
    /// True if the element exists, `None` if this is unknown; always true in arrays.
    pub present: Option<bool>,
    /// Value of the element.
    pub value: PartialValue,
}

/// A value of which some bytes are known. Its memory use depends only on the number of known bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialValue {
    /// Size in bytes.
    size: u32,
    known: BTreeMap<u32, u8>,
}

impl PartialValue {
    /// Returns the size of the value in bytes, including unknown bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns all bytes of the value; `None` stands for an unknown byte. Takes time in proportion
    /// to the size.
    pub fn iter(&self) -> impl Iterator<Item = Option<u8>> + '_ {
        (0..self.size).map(|offset| self.known.get(&offset).copied())
    }

    /// Returns all runs of consecutive known bytes in order, each with the offset of its first
    /// byte.
    pub fn runs(&self) -> Vec<(u32, Vec<u8>)> {
        let mut runs: Vec<(u32, Vec<u8>)> = Vec::new();
        for (&offset, &byte) in &self.known {
            match runs.last_mut() {
                Some((start, bytes)) if *start + bytes.len() as u32 == offset => bytes.push(byte),
                _ => runs.push((offset, vec![byte])),
            }
        }
        runs
    }
}

/// Known bytes of memory, by region and offset.
pub type Bytes = BTreeMap<(RegionId, u64), u8>;

/// Numbers that represent pairs of words, as [`slowpath_ir::BinaryOp::Intern`] assigns them.
pub type Interned = HashMap<(u64, u64), u32>;

impl MapLayout {
    /// Returns the elements that known bytes of memory determine at least in part, in the order of
    /// their numbers. `interned` contains the numbers that represent keys.
    pub fn elements(&self, bytes: &Bytes, interned: &Interned) -> Vec<Element> {
        let words: HashMap<u32, (u64, u64)> =
            interned.iter().map(|(&words, &number)| (number, words)).collect();
        let inside = |region: RegionId| {
            let range = (region, 0)..=(region, u64::MAX);
            bytes.range(range).map(|(&(_, offset), &byte)| (offset, byte))
        };
        let present: BTreeMap<u64, bool> = self
            .present
            .map(|region| inside(region).map(|(at, byte)| (at, byte != 0)).collect())
            .unwrap_or_default();
        let mut numbers: BTreeSet<u64> = present.keys().copied().collect();
        if let (Some(seen), None) = (self.first_access, self.present) {
            let found = inside(seen).filter(|&(_, note)| u64::from(note) == PRESENT);
            numbers.extend(found.map(|(offset, _)| offset));
        }
        if let Some(identity) = self.identity {
            numbers.extend(inside(identity).map(|(offset, _)| offset >> 2));
        } else {
            let positions = inside(self.values).map(|(offset, _)| offset >> self.element_bits);
            // Larger positions belong to elements that were free at the start.
            numbers.extend(
                positions.filter(|&position| self.moved.is_none() || position <= u32::MAX.into()),
            );
        }
        let element = |number: u64| {
            let (map_address, key) = self.key(number, &words);
            let accessed = self.first_access.and_then(|seen| bytes.get(&(seen, number)));
            let accessed = accessed
                .filter(|&&accessed| accessed != 0)
                .map(|&accessed| u64::from(accessed) == PRESENT);
            let known = accessed.or(present.get(&number).copied());
            Element {
                number,
                key,
                map_address,
                inner_map: self.position(number, bytes).filter(|_| self.holds_maps()),
                present: if self.present.is_some() || accessed.is_some() {
                    known
                } else {
                    Some(true)
                },
                value: self.value(number, bytes),
            }
        };
        numbers.into_iter().map(element).collect()
    }

    /// Returns the position of an element's value in the region [`MapLayout::values`]; `None` if it
    /// is unknown.
    fn position(&self, number: u64, bytes: &Bytes) -> Option<u64> {
        match (self.identity, self.moved) {
            (None, None) => Some(number),
            (None, Some(moved)) => {
                let byte = |n| bytes.get(&(moved, (number << 3) + n)).copied().unwrap_or(0);
                Some((0..8).fold(number, |place, n| place ^ u64::from(byte(n)) << (8 * n)))
            }
            (Some(region), _) => {
                let byte = |n| bytes.get(&(region, (number << 2) + n)).copied().map(u64::from);
                (0..4).try_fold(0, |word, n| Some(word | byte(n)? << (8 * n)))
            }
        }
    }

    /// Returns the value of an element, as far as its bytes are known.
    fn value(&self, number: u64, bytes: &Bytes) -> PartialValue {
        let size = if self.holds_maps() { 0 } else { self.value_size };
        let mut known = BTreeMap::new();
        if let Some(place) = self.position(number, bytes) {
            let start = place << self.element_bits;
            let end = start.saturating_add(size.into());
            let inside = (self.values, start)..(self.values, end);
            known.extend(bytes.range(inside).map(|(&(_, at), &byte)| ((at - start) as u32, byte)));
        }
        PartialValue { size, known }
    }

    /// Returns true if the elements of the map are maps.
    pub fn holds_maps(&self) -> bool {
        self.kind.holds_maps()
    }

    /// Returns the address of the inner map (for inner maps of a map of maps) and the key that a
    /// number represents. Each is `None` if unknown.
    fn key(&self, number: u64, words: &HashMap<u32, (u64, u64)>) -> (Option<u64>, Option<Vec<u8>>) {
        let size = self.key_size as usize;
        if self.keying != Keying::Interned {
            let key = number.to_le_bytes().get(..size).map(<[u8]>::to_vec);
            return (None, key);
        }
        let count = size.div_ceil(8) + usize::from(self.inner);
        let mut parts = Vec::with_capacity(count);
        let mut number = number as u32;
        // Start with the last word, which was interned last.
        for _ in 2..count {
            let Some(&(prefix, last)) = words.get(&number) else { return (None, None) };
            parts.push(last);
            number = prefix as u32;
        }
        let Some(&(first, second)) = words.get(&number) else { return (None, None) };
        parts.extend([second, first]);
        parts.reverse();
        let map_address = self.inner.then(|| parts.remove(0));
        let bytes: Vec<u8> = parts.iter().flat_map(|word| word.to_le_bytes()).collect();
        (map_address, bytes.get(..size).map(<[u8]>::to_vec))
    }
}

#[cfg(test)]
mod tests;
