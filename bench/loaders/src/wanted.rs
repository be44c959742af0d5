//! What all loaders are told beside the object: which program, how many elements maps have that
//! leave it to their own loader, and which other programs the object puts into program arrays.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use slowpath_bpf::{MapKind, Object, SlotRef};

/// A program, by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wanted {
    pub section: String,
    pub program: String,
}

/// Elements of maps that have none.
pub const SOME: u32 = 64;

/// Types whose number of elements every loader chooses by itself.
const CHOSEN: [MapKind; 2] = [MapKind::PERF_EVENT_ARRAY, MapKind::RINGBUF];

/// The maps whose number of elements the object does not say.
pub fn unsized_maps(object: &Object) -> impl Iterator<Item = &str> {
    let maps = object.maps.iter();
    maps.filter(|map| map.max_entries == 0 && !CHOSEN.contains(&map.kind)).map(|m| m.name.as_str())
}

/// The programs that the object itself puts into program arrays.
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
