//! Selects the lookups in a longest-prefix-match trie whose results are compared with each other,
//! because they must not contradict each other.

use std::collections::BTreeSet;

/// Size in bytes of the prefix length at the start of a key.
pub(in crate::lift) const LENGTH_BYTES: u32 = 4;

/// Maximum size in bytes of a key without its prefix length. The results of lookups with longer
/// keys are not compared with each other.
const DATA_BYTES: u32 = 32;

/// Maximum number of lookup instructions for which [`LookupComparison::Sites`] is used.
const SITES: usize = 8;

/// Number of earlier lookups with which a lookup is compared in [`LookupComparison::Last`].
pub(in crate::lift) const LAST: u64 = 8;

/// The lookups in a longest-prefix-match trie whose results are compared with each other, because
/// they must not contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lift) enum LookupComparison {
    /// The lookups by the instructions with these numbers; a run executes each of them at most
    /// once.
    Sites(BTreeSet<u32>),
    /// All lookups. Each is compared with the given number of lookups before it.
    Last(usize),
    /// The results of lookups are not compared.
    None,
}

impl LookupComparison {
    /// Merges the comparisons of two programs into one that works for both, although their
    /// instruction numbers differ.
    pub fn with(self, other: &LookupComparison) -> LookupComparison {
        let last = |compared: &LookupComparison| match compared {
            LookupComparison::Sites(sites) => Some((sites.len().max(1) - 1).min(LAST as usize)),
            LookupComparison::Last(before) => Some(*before),
            LookupComparison::None => None,
        };
        match (last(&self), last(other)) {
            _ if self == *other => self,
            (Some(a), Some(b)) => LookupComparison::Last(a.max(b).max(1)),
            _ => LookupComparison::None,
        }
    }
}

/// Selects the lookups in a trie to compare; `None` if a run makes at most one lookup. `sites` are
/// the lookup instructions, and `most` is the maximum number of lookups in a run. `twice` is true
/// if a run can execute one of these instructions twice.
pub(in crate::lift) fn compared(
    key_size: u32,
    sites: BTreeSet<u32>,
    (most, twice): (u64, bool),
) -> Option<LookupComparison> {
    let bytes = LENGTH_BYTES + 1..=LENGTH_BYTES + DATA_BYTES;
    match most {
        0 | 1 => None,
        _ if !bytes.contains(&key_size) => Some(LookupComparison::None),
        _ if sites.len() <= SITES && !twice => Some(LookupComparison::Sites(sites)),
        _ => Some(LookupComparison::Last((most - 1).min(LAST) as usize)),
    }
}
