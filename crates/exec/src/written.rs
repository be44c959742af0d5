//! Sets of places in memory, coarse and small: for each region, words modulo 64.
//!
//! Good for "surely not written here". Knows regions and ranges of offsets, no terms.

use slowpath_ir::RegionId;
use slowpath_smt::Domain;
use std::rc::Rc;

/// Bytes that share a bit.
const WORD: u64 = 8;
/// Words after which bits come again.
const WORDS: u64 = u64::BITS as u64;

/// A set of places that contains all that were written (or are read), and others.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    /// Any place.
    Anywhere,
    /// For some regions, ascending, the words: bit `i` is for all words with numbers `i` modulo 64.
    Words(Rc<[(RegionId, u64)]>),
}

impl Written {
    /// No place.
    pub fn nothing() -> Self {
        Written::Words(Rc::new([]))
    }

    /// So many bytes of a region from an offset on: from any of the offsets in a domain.
    pub fn at(region: RegionId, offset: &Domain, bytes: u8) -> Self {
        // Of narrower offsets, some words would not come again modulo 64.
        if u64::from(offset.width()) < (WORD * WORDS).ilog2().into() {
            return Written::regions(vec![region]);
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
        Written::Words(Rc::new([(region, words)]))
    }

    /// All bytes of these regions.
    pub fn regions(mut regions: Vec<RegionId>) -> Self {
        regions.sort_unstable();
        regions.dedup();
        Written::Words(regions.into_iter().map(|region| (region, u64::MAX)).collect())
    }

    /// The places in either.
    pub fn and(&self, other: &Written) -> Written {
        let (Written::Words(a), Written::Words(b)) = (self, other) else {
            return Written::Anywhere;
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
        Written::Words(both.into())
    }

    /// Whether some place is in both.
    pub fn meets(&self, other: &Written) -> bool {
        match (self, other) {
            (Written::Words(a), Written::Words(b)) => {
                let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
                few.iter().any(|(region, words)| words & words_of(many, *region) != 0)
            }
            (Written::Words(words), Written::Anywhere)
            | (Written::Anywhere, Written::Words(words)) => !words.is_empty(),
            (Written::Anywhere, Written::Anywhere) => true,
        }
    }
}

fn words_of(words: &[(RegionId, u64)], region: RegionId) -> u64 {
    let found = words.binary_search_by_key(&region, |&(region, _)| region);
    found.map_or(0, |index| words[index].1)
}

#[cfg(test)]
mod tests;
