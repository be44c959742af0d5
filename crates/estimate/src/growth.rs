//! Computes the additional time of helper calls on maps with many entries, if packets are spread
//! over all entries. The base times of calls are measured on maps with one entry. Models that were
//! fitted to measurements give the additional time.
//!
//! Most of the additional time is spent on cache misses. It depends on the memory that the elements
//! of the map occupy, so a model applies to elements of other sizes by that memory.

use crate::code::{Code, Room};
use crate::{Call, Path};
use slowpath_target::{Fitted, Timing};
use std::collections::HashMap;

/// Helpers that search a map for a key.
const SEEKING: [&str; 4] =
    ["map_lookup_elem", "map_update_elem", "map_delete_elem", "redirect_map"];
/// Map type whose look-ups go down a tree of prefixes.
const TRIE: &str = "lpm_trie";
/// Hash map types, whose look-ups read a bucket and an element. For numbers of entries that were
/// not measured with its own type, an estimate uses the model of the first type.
const HASHED: [&str; 4] = ["hash", "lru_hash", "percpu_hash", "lru_percpu_hash"];

/// Size in bytes that is assumed for an access at a computed offset inside a map element.
const WORD: u32 = 8;
/// Call whose model describes how the time of accesses to array elements grows with the memory of
/// the array.
const IN_ARRAY: &str = "map_lookup_elem.array";

/// Number of entries in maps that an estimate assumes. Packets are spread over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// Only the entries that a path needs. All of them are in the first-level cache.
    Few,
    /// This number of entries in each map, but no more than the map has room for.
    Entries(u64),
    /// As many entries as each map has room for.
    Full,
}

/// Additional time of a call because its map has more than one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// No additional time: the call does not search a map, or the map has at most one entry.
    None,
    /// Unknown: no model covers the call, its map is not known, or the model has no value for this
    /// number of entries.
    Unknown,
    /// Predicted by a model.
    Known {
        /// Additional time in thousandths of a cycle.
        cycles: u64,
        /// Smallest and largest measured number of entries, converted to this map's element size;
        /// set only if the predicted number is outside this range.
        outside: Option<(u64, u64)>,
    },
}

impl Growth {
    /// Returns the additional time in thousandths of a cycle; 0 if it is unknown.
    pub fn cycles(self) -> u64 {
        match self {
            Growth::Known { cycles, .. } => cycles,
            Growth::None | Growth::Unknown => 0,
        }
    }
}

/// Elements of a map, among which a call finds one.
struct Elements {
    number: u64,
    /// Memory of one element in bytes; `None` if it is not known.
    bytes: Option<u32>,
    /// Memory of the elements of all maps that the path accesses, in bytes. They share the caches.
    all_bytes: u64,
}

/// Returns the additional time of a call. `name` consists of the helper and the map type. `zero` is
/// true if the call returns 0, and `None` if this is not known.
fn growth(name: &str, zero: Option<bool>, elements: &Elements, timing: &Timing) -> Growth {
    let entries = elements.number;
    let helper = helper_of(name);
    if entries <= 1 || !SEEKING.contains(&helper) {
        return Growth::None;
    }
    // The result of updates and deletions does not tell whether they found an entry. A look-up in a
    // trie that finds nothing can go as deep as one that finds a prefix.
    let is_trie = name.split('.').any(|part| part == TRIE);
    let found = helper != "map_lookup_elem" || zero != Some(true) || is_trie;
    let Some(own) = timing.by_entries(name, found) else { return Growth::Unknown };
    let scaled = |model: &Fitted| match (model.entry_bytes, elements.bytes) {
        (Some(model), Some(bytes)) => f64::from(bytes) / model,
        _ => 1.0,
    };
    let is_hash = name.split('.').any(|part| HASHED.contains(&part));
    let wider = is_hash.then(|| timing.by_entries(&format!("{helper}.{}", HASHED[0]), found));
    let reach = |model: &Fitted| model.range().1 / scaled(model);
    let entries = entries as f64;
    let shared = |model: &Fitted| match (model.entry_bytes, elements.bytes) {
        (Some(model), Some(_)) => elements.all_bytes as f64 / model,
        _ => entries,
    };
    let model = match wider.flatten() {
        Some(wider) if entries > reach(own) && reach(wider) > reach(own) => wider,
        _ => own,
    };
    let Some(nanoseconds) = model.growth_beyond(shared(model).max(1.0)) else {
        return Growth::Unknown;
    };
    let (fewest, _) = model.range();
    let outside = fewest > 1.0 || entries > reach(model);
    Growth::Known {
        cycles: timing.cycles(nanoseconds),
        outside: outside.then_some((fewest as u64, reach(model) as u64)),
    }
}

fn helper_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

impl Call {
    /// Returns the time that the assumed number of entries adds to this call, compared with one
    /// entry. `all_bytes` is the [`Path::footprint`] of its path.
    pub fn growth(&self, timing: &Timing, occupancy: Occupancy, all_bytes: u64) -> Growth {
        let bytes = self.room.map(|room| room.element_bytes);
        let number = match (occupancy, self.room) {
            (Occupancy::Few, _) => return Growth::None,
            (Occupancy::Entries(entries), Some(room)) => entries.min(room.entries.into()),
            (Occupancy::Entries(entries), None) => entries,
            (Occupancy::Full, Some(room)) => room.entries.into(),
            (Occupancy::Full, None) if SEEKING.contains(&self.helper()) => return Growth::Unknown,
            (Occupancy::Full, None) => return Growth::None,
        };
        growth(&self.name, self.zero, &Elements { number, bytes, all_bytes }, timing)
    }
}

impl Path {
    /// Returns, for each map into whose elements the path computes offsets, the time that many
    /// entries add to such an access.
    pub fn table_growth(
        &self,
        timing: &Timing,
        occupancy: Occupancy,
        all_bytes: u64,
    ) -> impl Iterator<Item = Growth> {
        let tables = self.tables.iter();
        tables.map(move |room| room.growth(timing, occupancy, all_bytes))
    }

    /// Returns the memory of the elements of all maps that the path accesses, in bytes.
    pub fn footprint(&self, occupancy: Occupancy) -> u64 {
        let seeking = self.calls().iter().filter(|call| SEEKING.contains(&call.helper()));
        let found = seeking.filter_map(|call| call.room).chain(self.tables.iter().copied());
        let rooms: HashMap<u32, Room> = found.map(|room| (room.map, room)).collect();
        rooms.into_values().map(|room| room.bytes(occupancy)).sum()
    }
}

impl Room {
    /// Returns the additional time of an access inside an element, at a computed offset that may be
    /// anywhere in the element. `all_bytes` is the [`Path::footprint`] of the path.
    pub(crate) fn growth(self, timing: &Timing, occupancy: Occupancy, all_bytes: u64) -> Growth {
        if occupancy == Occupancy::Few {
            return Growth::None;
        }
        // Elements of this size are accessed as independently as those of an array of words.
        let elements = Elements {
            number: self.bytes(occupancy) / u64::from(WORD),
            bytes: Some(WORD),
            all_bytes,
        };
        growth(IN_ARRAY, Some(false), &elements, timing)
    }

    /// Returns the memory of all elements of the map, in bytes.
    fn bytes(self, occupancy: Occupancy) -> u64 {
        let entries = match occupancy {
            Occupancy::Few => 1,
            Occupancy::Entries(entries) => entries.min(self.entries.into()),
            Occupancy::Full => self.entries.into(),
        };
        entries * u64::from(self.element_bytes)
    }
}

/// Returns the largest additional time of a call of this class among the maps of its type, in
/// thousandths of a cycle.
pub(crate) fn largest(name: &str, timing: &Timing, code: &Code, occupancy: Occupancy) -> u64 {
    let of_type = |kind: &str| name.split('.').any(|part| part == kind);
    let rooms = code.rooms.iter().zip(&code.kinds);
    let rooms = rooms.filter(|(_, kind)| kind.is_some_and(of_type)).map(|(room, _)| *room);
    let calls = rooms.flat_map(|room: Room| {
        [true, false].map(|zero| Call {
            name: name.to_owned(),
            bytes: 0,
            zero: Some(zero),
            room: Some(room),
        })
    });
    let growth = |call: Call| {
        let all_bytes = call.room.map_or(0, |room| room.bytes(occupancy));
        call.growth(timing, occupancy, all_bytes).cycles()
    };
    calls.map(growth).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
