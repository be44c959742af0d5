//! Inputs that all loaders get besides the object: the requested program, sizes of maps that the
//! object leaves open, and the programs for the object's program arrays.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use slowpath_bpf::{MapKind, Object, SlotRef};

/// A program that a loader has to load, given by its section and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wanted {
    pub section: String,
    pub program: String,
}

/// Number of elements of maps whose size the object does not state.
pub const DEFAULT_ENTRIES: u32 = 64;

/// Types of maps whose size every loader chooses itself.
const CHOSEN: [MapKind; 2] = [MapKind::PERF_EVENT_ARRAY, MapKind::RINGBUF];

/// Returns the maps whose size the object does not state.
pub fn unsized_maps(object: &Object) -> impl Iterator<Item = &str> {
    let maps = object.maps.iter();
    maps.filter(|map| map.max_entries == 0 && !CHOSEN.contains(&map.kind)).map(|m| m.name.as_str())
}

/// Returns the programs that the object assigns to slots of its program arrays (for tail calls).
pub fn in_slots(object: &Object) -> BTreeSet<Wanted> {
    let slots = object.maps.iter().flat_map(|map| &map.slots);
    let programs = slots.filter_map(|(_, slot)| match slot {
        SlotRef::Program(number) => object.programs.get(*number),
        SlotRef::Map(_) => None,
    });
    let wanted = |p: &slowpath_bpf::ProgramEntry| Wanted {
        section: p.section.clone(),
        program: p.name.clone(),
    };
    programs.map(wanted).collect()
}
