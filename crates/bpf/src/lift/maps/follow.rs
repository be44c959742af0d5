//! What is followed of a map beyond which elements there are.

use std::collections::BTreeMap;

use crate::lift::maps::compared::Compared;

/// What is followed of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Follow {
    /// Where elements are: pointers from before an update or delete are used.
    pub places: bool,
    /// Whether places that were free in the meantime are used again.
    pub reuse: bool,
    /// How many more elements there is room for: at most so many at the start.
    pub room: Option<u32>,
    /// Which keys a run has met: it may meet more than the map has elements.
    pub seen: bool,
    /// How many of those that it has met are there: it goes through all elements.
    pub walked: bool,
    /// Whether elements come or go while it does.
    pub disturbed: bool,
    /// The look-ups in a trie that limit each other.
    pub prefixes: Option<Compared>,
}

/// What is followed, by name of the map.
pub(in crate::lift) type Plan = BTreeMap<String, Follow>;
