//! What is tracked of a map beyond which elements there are. All of it costs operations at every
//! call, and conditions in every query, so that only what can make a difference is ([`super::uses`]).

use std::collections::BTreeMap;

use crate::lift::maps::compared::Compared;

/// What is tracked of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Tracking {
    /// Where elements are: pointers from before an update or delete are used.
    pub slots: bool,
    /// Whether slots that were free in the meantime are used again.
    pub reuse: bool,
    /// How many more elements there is room for: at most so many at the start.
    pub room: Option<u32>,
    /// Which keys a run has met: it may meet more than the map has elements.
    pub seen: bool,
    /// How many of those that it has met are there: it goes through all elements.
    pub walked: bool,
    /// Whether elements come or go while it does.
    pub disturbed: bool,
    /// Whether a trie is changed by the program.
    pub changed: bool,
    /// The look-ups in a trie that limit each other.
    pub prefixes: Option<Compared>,
}

impl Tracking {
    /// What is tracked for two programs: all that either needs.
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

/// What is tracked, by name of the map.
pub(in crate::lift) type TrackingPlan = BTreeMap<String, Tracking>;
