//! Maps that an object defines, from any of the three places where objects define them: BTF types
//! of the section `.maps`, structures in a section `maps`, and sections of global data.
//!
//! What a map does is not known here.

mod btf_defined;
mod data;
mod kind;
mod legacy;
mod slots;
#[cfg(test)]
mod tests;

pub use data::Variable;
pub(crate) use data::is_data_section;
pub use kind::MapKind;

use crate::btf::TypeId;
use crate::elf::Elf;
use crate::{Btf, ObjectError};

/// Flag of maps that programs cannot write (`BPF_F_RDONLY_PROG`).
pub const READ_ONLY: u32 = 1 << 7;
/// Flag of maps that user space can map into its memory (`BPF_F_MMAPABLE`).
pub const MAPPABLE: u32 = 1 << 10;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDef {
    /// Its name; for global data the section's.
    pub name: String,
    /// Its type.
    pub kind: MapKind,
    /// In bytes.
    pub key_size: u32,
    /// In bytes.
    pub value_size: u32,
    /// How many elements it can hold; 0 where the loader chooses (perf event arrays).
    pub max_entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// Extra parameter of some types, such as the number of hash functions of a bloom filter.
    pub extra: u64,
    /// Where the loader pins it: 0 nowhere, 1 by name; other values are the producer's.
    pub pinning: u32,
    /// BTF type of the keys, if the definition has one.
    pub key_type: Option<TypeId>,
    /// BTF type of the values, if the definition has one.
    pub value_type: Option<TypeId>,
    /// Content of the only element, for global data.
    pub initial: Option<Vec<u8>>,
    /// Whether nobody writes it once the program runs, so that [`MapDef::initial`] is its content.
    pub read_only: bool,
    /// For maps of maps: what the inner maps look like.
    pub inner: Option<Box<MapDef>>,
    /// For program arrays and maps of maps: the slots that the object fills.
    pub slots: Vec<(u32, SlotRef)>,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotRef {
    /// A program, by its number in [`crate::Object::programs`].
    Program(usize),
    /// A map, by its number in [`crate::Object::maps`].
    Map(usize),
}

impl MapDef {
    pub(crate) fn new(name: &str) -> Self {
        MapDef {
            name: name.to_owned(),
            kind: MapKind(0),
            key_size: 0,
            value_size: 0,
            max_entries: 0,
            flags: 0,
            extra: 0,
            pinning: 0,
            key_type: None,
            value_type: None,
            initial: None,
            read_only: false,
            inner: None,
            slots: Vec::new(),
        }
    }
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
    pub numbered: Option<legacy::Numbers>,
}

/// All maps of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable {
    pub maps: Vec<PlacedMap>,
}

impl MapTable {
    pub fn read(elf: &Elf, btf: Option<&Btf>) -> Result<Self, ObjectError> {
        let mut maps = Vec::new();
        for (index, section) in elf.sections.iter().enumerate() {
            if section.name == "maps" || section.name.starts_with("maps/") {
                legacy::read(elf, index, &mut maps)?;
            }
        }
        legacy::connect(&mut maps);
        for (index, section) in elf.sections.iter().enumerate() {
            if section.name == ".maps" {
                btf_defined::read(elf, index, btf, &mut maps)?;
            }
        }
        let mut size = 0;
        for (index, section) in elf.sections.iter().enumerate() {
            if is_data_section(&section.name) && section.size > 0 {
                maps.push(data::read(section, index, size)?);
                size += section.size;
            }
        }
        Ok(MapTable { maps })
    }

    /// Fills in the slots that relocations and section names give; `program` says which program
    /// starts at an offset of a section.
    pub fn fill_slots(
        &mut self,
        elf: &Elf,
        program: &dyn Fn(usize, u64) -> Option<usize>,
        programs: &[&str],
    ) -> Result<(), ObjectError> {
        slots::from_relocations(self, elf, program)?;
        slots::from_section_names(self, programs);
        slots::sort(self);
        Ok(())
    }

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
