//! Which look-ups in a longest-prefix-match trie are compared with each other.

use std::collections::BTreeSet;

/// Bytes of the prefix length in front of a key.
pub(in crate::lift) const LENGTH_BYTES: u32 = 4;

/// Most bytes of a prefix for which look-ups are compared.
const DATA_BYTES: u32 = 32;

/// Most places of look-ups that are told apart.
const SITES: usize = 8;

/// Most look-ups of a run that later ones are compared with, where their places do not tell them
/// apart.
pub(in crate::lift) const LAST: u64 = 8;

/// Which look-ups in a trie are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lift) enum Compared {
    /// Those at these instructions, each of which a run comes to once at most.
    Sites(BTreeSet<u32>),
    /// Each with so many before.
    Last(usize),
    /// None.
    None,
}

impl Compared {
    /// How they are compared in two programs, whose instructions have other numbers.
    pub fn with(self, other: &Compared) -> Compared {
        let last = |compared: &Compared| match compared {
            Compared::Sites(sites) => Some((sites.len().max(1) - 1).min(LAST as usize)),
            Compared::Last(before) => Some(*before),
            Compared::None => None,
        };
        match (last(&self), last(other)) {
            _ if self == *other => self,
            (Some(a), Some(b)) => Compared::Last(a.max(b).max(1)),
            _ => Compared::None,
        }
    }
}

/// How look-ups in such a trie are compared: `sites` is where they are, `most` how many of them a run
/// can make, and whether one can be made twice.
pub(in crate::lift) fn compared(
    key_size: u32,
    sites: BTreeSet<u32>,
    (most, twice): (u64, bool),
) -> Option<Compared> {
    let bytes = LENGTH_BYTES + 1..=LENGTH_BYTES + DATA_BYTES;
    match most {
        0 | 1 => None,
        _ if !bytes.contains(&key_size) => Some(Compared::None),
        _ if sites.len() <= SITES && !twice => Some(Compared::Sites(sites)),
        _ => Some(Compared::Last((most - 1).min(LAST) as usize)),
    }
}
