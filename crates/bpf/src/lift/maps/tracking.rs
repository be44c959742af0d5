//! Lists the properties of a map that lifting tracks besides the existence of elements. Tracking
//! adds operations to every call and conditions to every query of the solver. Lifting therefore
//! tracks only properties that can affect the program ([`super::uses`]).

use std::collections::BTreeMap;

use crate::lift::maps::lookup_comparison::LookupComparison;

/// The properties of a map that lifting tracks; the default tracks none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Tracking {
    /// True to track the slots of elements in memory, because the program uses pointers that it
    /// obtained before an update or deletion.
    pub slots: bool,
    /// True to track the order in which new elements reuse the memory slots of deleted elements.
    pub reuse: bool,
    /// Upper bound on the number of free elements at the start of the program. `None` if the number
    /// of free elements is not tracked.
    pub room: Option<u32>,
    /// True to track the keys that a run has accessed, because it may access more keys than the map
    /// can hold.
    pub seen: bool,
    /// True to count the existing elements that a run has accessed, because the program iterates
    /// over the map.
    pub walked: bool,
    /// True to track insertions and deletions during iterations over the map.
    pub disturbed: bool,
    /// True to track whether the program has changed the map, which is a longest-prefix-match trie.
    pub changed: bool,
    /// The lookups in a trie whose results are compared with each other; `None` if none are
    /// compared.
    pub prefixes: Option<LookupComparison>,
}

impl Tracking {
    /// Returns the properties to track for two programs that use the same map.
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

/// The properties that lifting tracks for each map, by the name of the map.
pub(in crate::lift) type TrackingPlan = BTreeMap<String, Tracking>;
