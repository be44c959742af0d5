//! Memory that CPUs share, as far as a run has accessed it: another CPU may change it before the run
//! reads it again.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::lift::state::value::MapId;

/// Maps that other CPUs can change between two accesses of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// The names of maps that a path accesses again, where another CPU may have changed them.
    pub maps: BTreeSet<String>,
    /// Those of them that a helper reads again behind an argument. With
    /// [`crate::lift::LiftOptions::interleaved`], it finds what the run knows of them.
    pub read_by_calls: BTreeSet<String>,
    /// Those of them that `bpf_for_each_map_elem` goes through, with the rounds of a walk while
    /// nobody inserts: others have no limit, and are not followed.
    pub walks: BTreeMap<String, u32>,
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

    /// Whether all of the other is in this one.
    fn covers(self, other: Shared) -> bool {
        match (self, other) {
            (
                Shared::Bytes { map, from, end },
                Shared::Bytes { map: same, from: first, end: last },
            ) => map == same && from <= first && last <= end,
            _ => self == other,
        }
    }
}

/// A set of shared memory. Ranges of bytes that overlap or touch are one, so that a program which
/// accesses a large value field by field has few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SharedSet(BTreeSet<Shared>);

impl SharedSet {
    fn covers(&self, access: Shared) -> bool {
        self.0.iter().any(|known| known.covers(access))
    }

    fn overlaps(&self, access: Shared) -> bool {
        self.0.iter().any(|known| known.overlaps(access))
    }

    fn insert(&mut self, access: Shared) {
        let Shared::Bytes { map, mut from, mut end } = access else {
            self.0.insert(access);
            return;
        };
        self.0.retain(|known| match *known {
            Shared::Bytes { map: same, from: first, end: last }
                if map == same && from <= last && first <= end =>
            {
                (from, end) = (from.min(first), end.max(last));
                false
            }
            _ => true,
        });
        self.0.insert(Shared::Bytes { map, from, end });
    }
}

/// Memory that a run may have accessed, and that a lock protects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Accessed {
    /// Accessed on some path.
    any: Rc<SharedSet>,
    /// The map whose values the held lock protects, with what was accessed on all paths since.
    locked: Option<(MapId, Rc<BTreeSet<Shared>>)>,
}

impl Accessed {
    /// Adds what was accessed on another path.
    pub fn join(&mut self, other: &Accessed) {
        if !Rc::ptr_eq(&self.any, &other.any) {
            for &access in &other.any.0 {
                self.add(access);
            }
        }
        self.locked = match (self.locked.take(), &other.locked) {
            (Some((map, held)), Some((same, others))) if map == *same => {
                let both = held.intersection(others).copied().collect();
                Some((map, Rc::new(both)))
            }
            _ => None,
        };
    }

    fn add(&mut self, access: Shared) {
        if !self.any.covers(access) {
            Rc::make_mut(&mut self.any).insert(access);
        }
    }

    /// Notes an access.
    pub fn note(&mut self, access: Shared) {
        self.add(access);
        if let (Some((locked, held)), Shared::Bytes { map, .. }) = (&mut self.locked, access)
            && *locked == map
            && !held.contains(&access)
        {
            Rc::make_mut(held).insert(access);
        }
    }

    /// Whether another CPU may have changed this since the run accessed it.
    pub fn may_change(&self, access: Shared) -> bool {
        let bytes = matches!(access, Shared::Bytes { .. });
        if let Some((_, held)) = self.locked.as_ref().filter(|_| bytes)
            && held.iter().any(|held| held.covers(access))
        {
            return false;
        }
        self.any.overlaps(access)
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

#[cfg(test)]
mod tests;
