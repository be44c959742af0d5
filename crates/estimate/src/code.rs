//! The instructions of a program, and properties of its maps, as needed to estimate the times of
//! its paths.

use slowpath_bpf::insn::Insn;
use slowpath_bpf::{MapDef, MapKind, Object};

/// Size of a cache line in bytes.
pub(crate) const LINE: u32 = 64;

/// Capacity of a map: maximum number of elements, and memory of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Index of the map in the object.
    pub map: u32,
    /// Maximum number of elements.
    pub entries: u32,
    /// Memory that a look-up of an element can touch, in bytes: key and value, each rounded up to 8
    /// bytes, and the data that the kernel keeps with the element.
    pub element_bytes: u32,
}

impl Room {
    /// Memory that the kernel keeps for each element of a hash map or trie, in bytes: its header
    /// (`struct htab_elem`, 48 bytes) and its share of the buckets (16 bytes).
    const HEADER: u32 = 64;
    /// Size in bytes of the pointer through which the kernel reaches an element of a per-CPU array.
    const POINTER: u32 = 8;

    fn of(map: u32, def: &MapDef) -> Room {
        let (key, value) = (round_up(def.key_size), round_up(def.value_size));
        let element_bytes = match def.kind {
            MapKind::ARRAY => value,
            MapKind::PERCPU_ARRAY => value.saturating_add(Self::POINTER),
            _ => key.saturating_add(value).saturating_add(Self::HEADER),
        };
        Room { map, entries: def.max_entries, element_bytes: element_bytes.max(1) }
    }
}

fn round_up(bytes: u32) -> u32 {
    bytes.checked_next_multiple_of(8).unwrap_or(u32::MAX)
}

/// The instructions of a program by number, and properties of the maps that they use.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub(crate) insns: Vec<Insn>,
    /// Size of each map's keys, in bytes.
    pub(crate) key_bytes: Vec<u32>,
    /// Capacity of each map.
    pub(crate) rooms: Vec<Room>,
    /// Type of each map, as in the names of calls; `None` for an unknown type.
    pub(crate) kinds: Vec<Option<&'static str>>,
    /// Initial content of each map that holds global data; `None` for all other maps.
    pub(crate) initial: Vec<Option<Vec<u8>>>,
}

impl Code {
    /// Creates the code of a program. `insns` contains its instructions by number, and `object`
    /// contains its maps.
    pub fn new(insns: Vec<Insn>, object: &Object) -> Code {
        let maps = object.maps.iter();
        Code {
            insns,
            key_bytes: maps.clone().map(|map| map.key_size).collect(),
            rooms: (0..).zip(maps.clone()).map(|(map, def)| Room::of(map, def)).collect(),
            kinds: maps.clone().map(|map| map.kind.name()).collect(),
            initial: maps.map(|map| map.initial.clone()).collect(),
        }
    }

    /// Returns the maximum number of elements of each map, in the order of the object.
    pub fn sizes(&mut self) -> impl Iterator<Item = &mut u32> {
        self.rooms.iter_mut().map(|room| &mut room.entries)
    }

    /// Returns true if each map has at most one element, and the element fits into a cache line.
    /// All elements then fit into the first-level cache.
    pub fn has_no_rooms(&self) -> bool {
        self.rooms.iter().all(|room| room.entries <= 1 && room.element_bytes <= LINE)
    }
}

/// Returns code without instructions, for tests of maps. Each map is given by its type, its number
/// of elements, and the size of an element in bytes.
#[cfg(test)]
pub(crate) fn with_maps(maps: &[(&'static str, u32, u32)]) -> Code {
    Code {
        rooms: maps
            .iter()
            .zip(0..)
            .map(|(&(_, entries, element_bytes), map)| Room { map, entries, element_bytes })
            .collect(),
        kinds: maps.iter().map(|&(kind, ..)| Some(kind)).collect(),
        ..Code::default()
    }
}
