//! Lists the properties of a map that lifting tracks besides the existence of elements. Tracking
//! costs operations at every call and conditions in every query, so lifting tracks only properties
//! that can affect the program ([`super::uses`]).

use std::collections::BTreeMap;

use crate::lift::maps::lookup_comparison::LookupComparison;

/// The properties of a map that lifting tracks; the default tracks none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Tracking {
    /// True to track the slots of elements, because the program uses pointers that it got before an
    /// update or deletion.
    pub slots: bool,
    /// True to track which freed slots are used again.
    pub reuse: bool,
    /// The number of free elements is tracked if this is not `None`; the value is an upper bound on
    /// it at the start.
    pub room: Option<u32>,
    /// True to track accessed keys, because a run may access more keys than the map has elements.
    pub seen: bool,
    /// True to track the number of existing accessed elements, because the program iterates over
    /// the map.
    pub walked: bool,
    /// True to track insertions and deletions during iterations.
    pub disturbed: bool,
    /// True to track whether the program has changed the trie.
    pub changed: bool,
    /// The lookups in a trie whose results are compared with each other; `None` if none are
    /// compared.
    pub prefixes: Option<LookupComparison>,
}

impl Tracking {
    /// Returns the properties that must be tracked for either of two programs.
    pub fn with(self, other: &Tracking) -> Tracking {
        Tracking {
            slots: self.slots || other.slots,
            reuse: self.reuse || other.reuse,
            room: self.room.max(other.room),
            seen: self.seen || other.seen,
            walked: self.walked || other.walked,
            disturbed: self.disturbed || other.disturbed,
            changed: self.changed || other.changed,
            prefixes: match (self.prefixes, &other.prefixes) {
                (Some(all), Some(more)) => Some(all.with(more)),
                (all, more) => all.or(more.clone()),
            },
        }
    }
}

/// The tracked properties of each map, by the name of the map.
pub(in crate::lift) type TrackingPlan = BTreeMap<String, Tracking>;
