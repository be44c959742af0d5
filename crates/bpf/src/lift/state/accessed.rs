//! Tracks the shared memory that a run has accessed, because another CPU may change the content
//! before the run reads it again.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::lift::state::value::MapId;

/// The maps that other CPUs can change between two accesses of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// Names of maps that a path accesses again after another CPU may have changed them.
    pub maps: BTreeSet<String>,
    /// Maps of [`Interference::maps`] that a helper accesses again, because an argument points to
    /// their values. The model assumes that these values have not changed, even with
    /// [`crate::lift::LiftOptions::interleaved`].
    pub read_by_calls: BTreeSet<String>,
    /// Maps of [`Interference::maps`] over which `bpf_for_each_map_elem` iterates. The value is the
    /// maximum number of iterations if no other CPU inserts elements. Iterations over elements that
    /// other CPUs insert are not modelled.
    pub walks: BTreeMap<String, u32>,
}

/// Memory or state that CPUs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) enum Shared {
    /// The bytes from offset `from` to `end` (exclusive) in the values of a map.
    Bytes { map: MapId, from: i64, end: i64 },
    /// Bytes in the values of an unknown map.
    AnyBytes,
    /// The set of elements that exist in a map, without their values.
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

    /// Returns true if the memory that this value describes contains all memory that `other`
    /// describes.
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

/// A set of memory areas that CPUs share. Overlapping or adjacent byte ranges are merged, so a
/// program that accesses a large value field by field has few ranges.
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

/// Shared memory that a run may have accessed, and memory that it protects by a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct Accessed {
    /// Memory accessed on at least one path.
    any: Rc<SharedSet>,
    /// While the run holds a lock: the map whose values the lock protects, and the bytes accessed
    /// on all paths since the run took the lock.
    locked: Option<(MapId, Rc<BTreeSet<Shared>>)>,
}

impl Accessed {
    /// Adds the accesses of another path that leads to the same program point.
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

    pub fn note(&mut self, access: Shared) {
        self.add(access);
        if let (Some((locked, held)), Shared::Bytes { map, .. }) = (&mut self.locked, access)
            && *locked == map
            && !held.contains(&access)
        {
            Rc::make_mut(held).insert(access);
        }
    }

    /// Returns true if another CPU may have changed this memory since the run accessed it.
    pub fn may_change(&self, access: Shared) -> bool {
        let bytes = matches!(access, Shared::Bytes { .. });
        if let Some((_, held)) = self.locked.as_ref().filter(|_| bytes)
            && held.iter().any(|held| held.covers(access))
        {
            return false;
        }
        self.any.overlaps(access)
    }

    /// Records that the run takes a lock. `map` is the map whose values the lock protects, or
    /// `None` if it is unknown.
    pub fn lock(&mut self, map: Option<MapId>) {
        self.locked = map.map(|map| (map, Rc::default()));
    }

    pub fn unlock(&mut self) {
        self.locked = None;
    }
}

#[cfg(test)]
mod tests;
