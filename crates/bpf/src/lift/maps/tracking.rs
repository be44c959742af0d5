//! Properties of a map that lifting tracks besides the existence of elements. Tracking costs
//! operations at every call and conditions in every query, so lifting tracks only properties that
//! can affect the program ([`super::uses`]).

use std::collections::BTreeMap;

use crate::lift::maps::lookup_comparison::LookupComparison;

/// Tracked properties of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Tracking {
    /// Slots of elements, because the program uses pointers that it got before an update or
    /// deletion.
    pub slots: bool,
    /// Reuse of freed slots.
    pub reuse: bool,
    /// Number of free elements; the value is its upper bound at the start.
    pub room: Option<u32>,
    /// Accessed keys, because a run may access more keys than the map has elements.
    pub seen: bool,
    /// Number of existing accessed elements, because the program iterates over the map.
    pub walked: bool,
    /// Insertions and deletions during iterations.
    pub disturbed: bool,
    /// Changes of the trie by the program.
    pub changed: bool,
    /// Lookups in a trie whose results are compared with each other.
    pub prefixes: Option<LookupComparison>,
}

impl Tracking {
    /// Returns all properties that one of two programs needs.
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
