//! What the memory of the lifted program means: from bytes of regions back to maps with keys and
//! values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use slowpath_ir::RegionId;

use super::maps::{Keying, MapLayout};

/// Where things are in a lifted program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What the program returned, 8 bytes: an XDP action in the low 32 bits.
    pub result: RegionId,
    /// The packet as received; offset 0 is its first byte.
    pub packet: RegionId,
    /// `struct xdp_md`.
    pub context: RegionId,
    /// The maps that the program uses.
    pub maps: Vec<MapLayout>,
}

/// An element of a map, as far as some bytes of memory tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its number, see [`MapLayout`].
    pub number: u64,
    /// Its key, if the number tells.
    pub key: Option<Vec<u8>>,
    /// For maps out of a map of maps: the address that stands for the map.
    pub which: Option<u64>,
    /// Whether it exists, if that is known; always in arrays.
    pub present: Option<bool>,
    /// Its value; `None` for bytes that are not known.
    pub value: Vec<Option<u8>>,
}

/// Bytes of memory, by region and offset.
pub type Bytes = BTreeMap<(RegionId, u64), u8>;

/// The number that stands for two words.
pub type Interned = HashMap<(u64, u64), u32>;

impl MapLayout {
    /// The elements that some bytes of memory say something about, in the order of their numbers.
    ///
    /// `interned` are the numbers that stand for keys.
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
        if let Some(identity) = self.identity {
            numbers.extend(inside(identity).map(|(offset, _)| offset >> 2));
        } else {
            numbers.extend(inside(self.values).map(|(offset, _)| offset >> self.element_bits));
        }
        let element = |number: u64| {
            let (which, key) = self.key(number, &words);
            let known = present.get(&number).copied();
            Element {
                number,
                key,
                which,
                present: if self.present.is_some() { known } else { Some(true) },
                value: self.value(number, bytes),
            }
        };
        numbers.into_iter().map(element).collect()
    }

    /// The value of the element with this number.
    fn value(&self, number: u64, bytes: &Bytes) -> Vec<Option<u8>> {
        let place = match self.identity {
            None => Some(number),
            Some(region) => {
                let byte = |n| bytes.get(&(region, (number << 2) + n)).copied().map(u64::from);
                (0..4).try_fold(0, |word, n| Some(word | byte(n)? << (8 * n)))
            }
        };
        let size = if self.holds_maps() { 0 } else { u64::from(self.value_size) };
        let byte = |n: u64| bytes.get(&(self.values, (place? << self.element_bits) + n)).copied();
        (0..size).map(byte).collect()
    }

    /// Whether the values are maps.
    pub fn holds_maps(&self) -> bool {
        self.kind.holds_maps()
    }

    /// What a number stands for: the map, for maps out of a map of maps, and the key.
    fn key(&self, number: u64, words: &HashMap<u32, (u64, u64)>) -> (Option<u64>, Option<Vec<u8>>) {
        let size = self.key_size as usize;
        if self.keying != Keying::Interned {
            let key = number.to_le_bytes().get(..size).map(<[u8]>::to_vec);
            return (None, key);
        }
        let count = size.div_ceil(8) + usize::from(self.inner);
        let mut parts = Vec::with_capacity(count);
        let mut number = number as u32;
        // The last word was added last.
        for _ in 2..count {
            let Some(&(so_far, last)) = words.get(&number) else { return (None, None) };
            parts.push(last);
            number = so_far as u32;
        }
        let Some(&(first, second)) = words.get(&number) else { return (None, None) };
        parts.extend([second, first]);
        parts.reverse();
        let which = self.inner.then(|| parts.remove(0));
        let bytes: Vec<u8> = parts.iter().flat_map(|word| word.to_le_bytes()).collect();
        (which, bytes.get(..size).map(<[u8]>::to_vec))
    }
}

#[cfg(test)]
mod tests;
