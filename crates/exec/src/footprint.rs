//! Defines footprints: sets that contain at least the bytes that a store may write or a load may
//! read. To stay small, a footprint stores the numbers of 8-byte words modulo 64, for each region
//! (a Bloom filter with one hash).
//!
//! If two footprints have no word in common, the write does not change the bytes that are read.
//! This module knows regions and ranges of offsets, but no terms.

use slowpath_ir::RegionId;
use slowpath_smt::Domain;
use std::rc::Rc;

/// Number of bytes of a word, the smallest unit that footprints distinguish.
const WORD: u64 = 8;
/// Number of bits for each region. Words whose numbers differ by a multiple of this number share a
/// bit.
const WORDS: u64 = u64::BITS as u64;

/// A set that contains at least the bytes that a memory access writes or reads.
#[derive(Clone, Debug)]
pub(crate) enum Footprint {
    /// All bytes of all regions.
    Anywhere,
    /// For each region, a set of 8-byte words; regions are in ascending order. Bit `i` stands for
    /// all words whose number is `i` modulo 64.
    Words(Rc<[(RegionId, u64)]>),
}

impl Footprint {
    pub fn empty() -> Self {
        Footprint::Words(Rc::new([]))
    }

    /// Returns the footprint of an access to `bytes` bytes of a region, at any offset in the domain
    /// `offset`.
    pub fn at(region: RegionId, offset: &Domain, bytes: u8) -> Self {
        // Offsets with few bits wrap around before 64 words are used.
        if u64::from(offset.width()) < (WORD * WORDS).ilog2().into() {
            return Footprint::regions(vec![region]);
        }
        // Offsets of a table's elements agree in their low bits, whatever the element's number.
        let known = (offset.zeros() | offset.ones()) / WORD % WORDS;
        let ones = offset.ones() / WORD;
        let mut starts = 0u64;
        let (low, spread) = (offset.lo() / WORD, offset.hi() / WORD - offset.lo() / WORD);
        for word in (0..=spread.min(WORDS - 1)).map(|distance| (low + distance) % WORDS) {
            if (word ^ ones) & known == 0 {
                starts |= 1 << word;
            }
        }
        // Maximum distance of the first byte from the start of its word.
        let inside = !offset.zeros() & (WORD - 1);
        let more = (inside + u64::from(bytes.max(1)) - 1) / WORD;
        let words = (0..=more as u32).fold(0, |words, by| words | starts.rotate_left(by));
        Footprint::Words(Rc::new([(region, words)]))
    }

    /// Returns the footprint of all bytes of these regions.
    pub fn regions(mut regions: Vec<RegionId>) -> Self {
        regions.sort_unstable();
        regions.dedup();
        Footprint::Words(regions.into_iter().map(|region| (region, u64::MAX)).collect())
    }

    pub fn union(&self, other: &Footprint) -> Footprint {
        let (Footprint::Words(a), Footprint::Words(b)) = (self, other) else {
            return Footprint::Anywhere;
        };
        if a.is_empty() || Rc::ptr_eq(a, b) {
            return other.clone();
        }
        if b.iter().all(|(region, words)| words & !words_of(a, *region) == 0) {
            return self.clone();
        }
        let mut both: Vec<(RegionId, u64)> = a.iter().chain(b.iter()).copied().collect();
        both.sort_unstable_by_key(|&(region, _)| region);
        both.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 |= next.1;
            }
            same
        });
        Footprint::Words(both.into())
    }

    /// Returns true if the two sets may have a byte in common.
    pub fn intersects(&self, other: &Footprint) -> bool {
        match (self, other) {
            (Footprint::Words(a), Footprint::Words(b)) => {
                let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
                few.iter().any(|(region, words)| words & words_of(many, *region) != 0)
            }
            (Footprint::Words(words), Footprint::Anywhere)
            | (Footprint::Anywhere, Footprint::Words(words)) => !words.is_empty(),
            (Footprint::Anywhere, Footprint::Anywhere) => true,
        }
    }
}

fn words_of(words: &[(RegionId, u64)], region: RegionId) -> u64 {
    let found = words.binary_search_by_key(&region, |&(region, _)| region);
    found.map_or(0, |index| words[index].1)
}

#[cfg(test)]
mod tests;
