//! The maps of an object, and where they are defined in its file.

use super::def::MapDef;

/// How a numbered map refers to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// iproute2: own number, number of the inner map (0 for none).
    Id { id: u32, inner: u32 },
    /// Kernel samples: position of the inner map among the maps of such sections.
    Index { inner: u32 },
}

/// A map and where its definition is.
#[derive(Clone, Debug)]
pub(crate) struct PlacedMap {
    pub def: MapDef,
    /// Number of the section.
    pub section: usize,
    /// Offset of the definition in the section, in bytes; 0 for global data.
    pub offset: u64,
    /// Where the list of slots starts in the section, if it has one, and where it ends.
    pub values: Option<(u64, u64)>,
    /// `id` and `inner_id` or `inner_idx` of producers that number their maps.
    pub numbered: Option<Numbers>,
}

/// All maps of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable {
    pub maps: Vec<PlacedMap>,
}

impl MapTable {
    /// The map whose definition starts here.
    pub fn defined_at(&self, section: usize, offset: u64) -> Option<usize> {
        self.maps.iter().position(|map| {
            map.section == section && map.offset == offset && map.def.initial.is_none()
        })
    }

    /// The map that holds this section's data.
    pub fn data_of(&self, section: usize) -> Option<usize> {
        self.maps.iter().position(|map| map.section == section && map.def.initial.is_some())
    }

    /// Whether the section defines maps.
    pub fn defines_maps(&self, section: usize) -> bool {
        self.maps.iter().any(|map| map.section == section && map.def.initial.is_none())
    }
}
