//! Memory that CPUs share, as far as a run has accessed it: another CPU may change it before the run
//! reads it again.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::lift::state::value::MapId;

/// Maps that other CPUs can change between two accesses of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// The names of maps that a path accesses again, where another CPU may have changed them.
    pub maps: BTreeSet<String>,
    /// Those of them whose changes [`crate::lift::LiftOptions::interleaved`] does not follow.
    pub not_followed: BTreeSet<String>,
}

/// Something that CPUs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) enum Shared {
    /// Bytes of the values of a map, from the first to the one behind the last.
    Bytes { map: MapId, from: i64, end: i64 },
    /// Bytes of the values of a map that is not known.
    AnyBytes,
    /// Which elements a map has.
    Elements(MapId),
}

impl Shared {
    fn overlaps(self, other: Shared) -> bool {
        match (self, other) {
            (
                Shared::Bytes { map, from, end },
                Shared::Bytes { map: same, from: first, end: last },
            ) => map == same && from < last && first < end,
            (Shared::Elements(map), Shared::Elements(same)) => map == same,
            (Shared::Elements(_), _) | (_, Shared::Elements(_)) => false,
            (Shared::AnyBytes, _) | (_, Shared::AnyBytes) => true,
        }
    }
}

/// Memory that a run may have accessed, and that a lock protects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Accessed {
    /// Accessed on some path.
    any: Rc<BTreeSet<Shared>>,
    /// The map whose values the held lock protects, with what was accessed on all paths since.
    locked: Option<(MapId, Rc<BTreeSet<Shared>>)>,
}

impl Accessed {
    /// Adds what was accessed on another path.
    pub fn join(&mut self, other: &Accessed) {
        if !Rc::ptr_eq(&self.any, &other.any) && !other.any.is_subset(&self.any) {
            Rc::make_mut(&mut self.any).extend(other.any.iter().copied());
        }
        self.locked = match (self.locked.take(), &other.locked) {
            (Some((map, held)), Some((same, others))) if map == *same => {
                let both = held.intersection(others).copied().collect();
                Some((map, Rc::new(both)))
            }
            _ => None,
        };
    }

    /// Notes an access.
    pub fn note(&mut self, access: Shared) {
        if !self.any.contains(&access) {
            Rc::make_mut(&mut self.any).insert(access);
        }
        if let (Some((locked, held)), Shared::Bytes { map, .. }) = (&mut self.locked, access)
            && *locked == map
            && !held.contains(&access)
        {
            Rc::make_mut(held).insert(access);
        }
    }

    /// Whether another CPU may have changed this since the run accessed it.
    pub fn may_change(&self, access: Shared) -> bool {
        if let (Some((_, held)), Shared::Bytes { map, from, end }) = (&self.locked, access) {
            let covers = |held: &Shared| match *held {
                Shared::Bytes { map: same, from: first, end: last } => {
                    map == same && first <= from && end <= last
                }
                _ => false,
            };
            if held.iter().any(covers) {
                return false;
            }
        }
        self.any.iter().any(|&before| before.overlaps(access))
    }

    /// A lock is taken that protects the values of this map, or of one that is not known.
    pub fn lock(&mut self, map: Option<MapId>) {
        self.locked = map.map(|map| (map, Rc::default()));
    }

    /// The lock is given back.
    pub fn unlock(&mut self) {
        self.locked = None;
    }
}
