//! Finds the earlier stores of a path whose bytes a load reads.

use crate::values::{Base, MemoryAccess};
use std::collections::HashMap;

/// The earlier stores of a path that wrote the bytes of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// Position, in the path, of the last store among those that wrote the bytes.
    pub store: u32,
    /// True if several stores wrote the bytes. The bytes then have to reach the cache before they
    /// can be loaded.
    pub pieces: bool,
}

/// For each byte in memory, the position of the last store to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stores(HashMap<(Base, i64), u32>);

impl Stores {
    /// Records that the instruction at position `at` of the path stores to the memory `place`.
    pub fn store(&mut self, at: u32, place: MemoryAccess) {
        for byte in 0..i64::from(place.bytes) {
            self.0.insert((place.base, place.offset.wrapping_add(byte)), at);
        }
    }

    /// Returns the stores on the path that wrote the bytes which several loads read; `None` if no
    /// store on the path wrote any of them.
    pub fn loads(&self, places: &[MemoryAccess]) -> Option<Forwarded> {
        let found = places.iter().filter_map(|&place| self.load(place));
        found.reduce(|one, other| Forwarded {
            store: one.store.max(other.store),
            pieces: one.pieces || other.pieces,
        })
    }

    /// Returns the stores on the path that wrote the bytes which one load reads; `None` if no store
    /// on the path wrote any of them.
    pub fn load(&self, place: MemoryAccess) -> Option<Forwarded> {
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
