//! Holds the table of an object's maps, with the positions of their definitions in the object file.

use super::def::MapDef;

/// The numbers by which a map of maps in a legacy section refers to its inner map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// In iproute2: the number of this map, and the number of its inner map (0 for none).
    Id { id: u32, inner: u32 },
    /// In kernel samples: the index of the inner map among all maps of legacy sections.
    Index { inner: u32 },
}

/// A map definition and its position in the object file.
#[derive(Clone, Debug)]
pub(crate) struct PlacedMap {
    pub def: MapDef,
    /// Index of the section that contains the definition.
    pub section: usize,
    /// Offset of the definition in the section, in bytes; 0 for global data.
    pub offset: u64,
    /// Start and end of the definition's list of initial elements, in bytes from the start of the
    /// section; `None` without a list.
    pub values: Option<(u64, u64)>,
    /// Numbers by which maps refer to each other; `None` if the definition has no such numbers.
    pub numbered: Option<Numbers>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable {
    pub maps: Vec<PlacedMap>,
}

impl MapTable {
    /// Returns the index of the map whose definition in the object file starts at an offset of a
    /// section.
    pub fn defined_at(&self, section: usize, offset: u64) -> Option<usize> {
        self.maps.iter().position(|map| {
            map.section == section && map.offset == offset && map.def.initial.is_none()
        })
    }

    /// Returns the index of the map that contains the global data of a section.
    pub fn data_of(&self, section: usize) -> Option<usize> {
        self.maps.iter().position(|map| map.section == section && map.def.initial.is_some())
    }

    pub fn defines_maps(&self, section: usize) -> bool {
        self.maps.iter().any(|map| map.section == section && map.def.initial.is_none())
    }
}
