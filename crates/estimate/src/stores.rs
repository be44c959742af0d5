//! The stores of a path that a load waits for.

use crate::values::{Base, Place};
use std::collections::HashMap;

/// Stored data of the path that a load finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// The last of the stores, by its place in the path.
    pub store: u32,
    /// Whether it is not all from one store: then it has to be in the cache first.
    pub pieces: bool,
}

/// The last store to each byte, along a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stores(HashMap<(Base, i64), u32>);

impl Stores {
    /// A store is executed.
    pub fn store(&mut self, at: u32, place: Place) {
        for byte in 0..i64::from(place.bytes) {
            self.0.insert((place.base, place.offset.wrapping_add(byte)), at);
        }
    }

    /// Returns stored data that any of several loads finds.
    pub fn loads(&self, places: &[Place]) -> Option<Forwarded> {
        let found = places.iter().filter_map(|&place| self.load(place));
        found.reduce(|one, other| Forwarded {
            store: one.store.max(other.store),
            pieces: one.pieces || other.pieces,
        })
    }

    /// Returns stored data that a load finds.
    pub fn load(&self, place: Place) -> Option<Forwarded> {
        let bytes = 0..i64::from(place.bytes);
        let mut found =
            bytes.map(|byte| self.0.get(&(place.base, place.offset.wrapping_add(byte))).copied());
        let first = found.next()?;
        let (mut last, mut pieces) = (first, false);
        for store in found {
            pieces |= store != first;
            last = last.max(store);
        }
        last.map(|store| Forwarded { store, pieces })
    }
}
