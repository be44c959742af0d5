//! Holds the table of an object's maps, with the positions of their definitions in the file.

use super::def::MapDef;

/// Numbers by which a legacy map refers to its inner map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// In iproute2: the number of this map, and the number of its inner map (0 for none).
    Id { id: u32, inner: u32 },
    /// In kernel samples: the index of the inner map among all maps of legacy sections.
    Index { inner: u32 },
}

/// A map and the position of its definition.
#[derive(Clone, Debug)]
pub(crate) struct PlacedMap {
    pub def: MapDef,
    /// Index of the section that contains the definition.
    pub section: usize,
    /// Offset of the definition in the section, in bytes; 0 for global data.
    pub offset: u64,
    /// Start and end of the definition's list of slots in the section, in bytes, if it has a list.
    pub values: Option<(u64, u64)>,
    /// Numbers with which maps refer to each other, if the definition has such numbers.
    pub numbered: Option<Numbers>,
}

/// All maps of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable {
    pub maps: Vec<PlacedMap>,
}

impl MapTable {
    /// Returns the index of the map whose definition starts at an offset of a section.
    pub fn defined_at(&self, section: usize, offset: u64) -> Option<usize> {
        self.maps.iter().position(|map| {
            map.section == section && map.offset == offset && map.def.initial.is_none()
        })
    }

    /// Returns the index of the map that contains the global data of this section.
    pub fn data_of(&self, section: usize) -> Option<usize> {
        self.maps.iter().position(|map| map.section == section && map.def.initial.is_some())
    }

    /// Returns true if the section contains map definitions.
    pub fn defines_maps(&self, section: usize) -> bool {
        self.maps.iter().any(|map| map.section == section && map.def.initial.is_none())
    }
}
