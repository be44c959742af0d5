//! The definition of a map.

use std::ops::Range;

use super::kind::MapKind;
use crate::btf::TypeId;

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
    /// Bytes of values that the kernel keeps for itself ([`crate::Btf::special_fields`]): user space
    /// reads zeros there, and its writes leave them as they are.
    pub special: Vec<Range<u32>>,
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
    /// A map of this name, of which nothing else is said.
    pub fn new(name: &str) -> Self {
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
            special: Vec::new(),
            initial: None,
            read_only: false,
            inner: None,
            slots: Vec::new(),
        }
    }

    /// Sets the special bytes of a value to zero, as user space reads them.
    pub fn clear_special(&self, value: &mut [u8]) {
        for field in &self.special {
            if let Some(bytes) = value.get_mut(field.start as usize..field.end as usize) {
                bytes.fill(0);
            }
        }
    }
}
