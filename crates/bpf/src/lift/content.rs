//! What is known about the content of maps before the run: from `--maps`.

use std::collections::BTreeMap;

/// What a slot of a map holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryValue {
    /// A value, zeros behind its last byte; for per-CPU maps that of the CPU that runs the program.
    Bytes(Vec<u8>),
    /// A program of the object, by name.
    Program(String),
    /// A map, by name: of the object, or one that it does not define.
    Map(String),
    /// A value in one of the maps out of a map of maps.
    Inner {
        /// Its name, as in [`EntryValue::Map`].
        map: String,
        /// As [`EntryValue::Bytes`].
        value: Vec<u8>,
    },
}

impl EntryValue {
    /// The bytes of a value, if it consists of bytes.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            EntryValue::Bytes(value) | EntryValue::Inner { value, .. } => Some(value),
            EntryValue::Program(_) | EntryValue::Map(_) => None,
        }
    }
}

/// An element of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// As many bytes as the map's keys have.
    pub key: Vec<u8>,
    /// What it holds.
    pub value: EntryValue,
}

/// All elements of a map. Elements of arrays that are not here are zero; others do not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapContent {
    /// The elements.
    pub entries: Vec<MapEntry>,
    /// How many more there are, whose keys no program looks for.
    pub others: u64,
    /// The same for maps out of a map of maps, by name.
    pub inner: BTreeMap<String, InnerContent>,
}

/// What else is known of a map out of a map of maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InnerContent {
    /// How many more elements there are, whose keys no program looks for.
    pub others: u64,
    /// How many elements it can have, if not as many as the object says.
    pub max_entries: Option<u32>,
}

/// Most bytes of one map that are kept.
pub const MAX_CONTENT_BYTES: u64 = 1 << 26;
