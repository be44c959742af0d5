//! Tracked properties of a map, beyond the existence of elements. Tracking costs operations at
//! every call and conditions in every query. So only properties that can affect the program are
//! tracked ([`super::uses`]).

use std::collections::BTreeMap;

use crate::lift::maps::lookup_comparison::LookupComparison;

/// Tracked properties of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Tracking {
    /// Slots of elements, because the program uses pointers from before an update or deletion.
    pub slots: bool,
    /// Reuse of freed slots.
    pub reuse: bool,
    /// Number of free elements, with its upper bound at the start.
    pub room: Option<u32>,
    /// Accessed keys, because a run may access more keys than the map has elements.
    pub seen: bool,
    /// Number of existing accessed elements, because the program iterates over the map.
    pub walked: bool,
    /// Insertions and deletions during an iteration.
    pub disturbed: bool,
    /// True if the program changes the trie.
    pub changed: bool,
    /// Lookups in a trie that constrain each other.
    pub prefixes: Option<LookupComparison>,
}

impl Tracking {
    /// Merges the properties that two programs need.
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

/// Tracked properties by map name.
pub(in crate::lift) type TrackingPlan = BTreeMap<String, Tracking>;
