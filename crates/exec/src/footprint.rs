//! Footprints: over-approximated sets of bytes that a store may write or a load may read, coarse
//! and small: for each region, words modulo 64 (a Bloom filter with one hash).
//!
//! Good for "surely not written here". Knows regions and ranges of offsets, no terms.

use slowpath_ir::RegionId;
use slowpath_smt::Domain;
use std::rc::Rc;

/// Bytes that share a bit.
const WORD: u64 = 8;
/// Words after which bits come again.
const WORDS: u64 = u64::BITS as u64;

/// A set that contains all bytes that were written (or are read), and perhaps others.
#[derive(Clone, Debug)]
pub(crate) enum Footprint {
    /// Any byte.
    Anywhere,
    /// For some regions, ascending, the words: bit `i` is for all words with numbers `i` modulo 64.
    Words(Rc<[(RegionId, u64)]>),
}

impl Footprint {
    /// No byte.
    pub fn empty() -> Self {
        Footprint::Words(Rc::new([]))
    }

    /// So many bytes of a region from an offset on: from any of the offsets in a domain.
    pub fn at(region: RegionId, offset: &Domain, bytes: u8) -> Self {
        // Of narrower offsets, some words would not come again modulo 64.
        if u64::from(offset.width()) < (WORD * WORDS).ilog2().into() {
            return Footprint::regions(vec![region]);
        }
        // Elements of a table have the same low bits, whatever their number.
        let known = (offset.zeros() | offset.ones()) / WORD % WORDS;
        let ones = offset.ones() / WORD;
        let mut starts = 0u64;
        let (low, spread) = (offset.lo() / WORD, offset.hi() / WORD - offset.lo() / WORD);
        for word in (0..=spread.min(WORDS - 1)).map(|distance| (low + distance) % WORDS) {
            if (word ^ ones) & known == 0 {
                starts |= 1 << word;
            }
        }
        // The most that the first byte can be behind the start of its word.
        let inside = !offset.zeros() & (WORD - 1);
        let more = (inside + u64::from(bytes.max(1)) - 1) / WORD;
        let words = (0..=more as u32).fold(0, |words, by| words | starts.rotate_left(by));
        Footprint::Words(Rc::new([(region, words)]))
    }

    /// All bytes of these regions.
    pub fn regions(mut regions: Vec<RegionId>) -> Self {
        regions.sort_unstable();
        regions.dedup();
        Footprint::Words(regions.into_iter().map(|region| (region, u64::MAX)).collect())
    }

    /// The bytes in either.
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

    /// Whether some byte may be in both.
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
