//! Describes the content of maps before the run, as the option `--maps` gives it.

use std::collections::BTreeMap;

/// Value of a map element before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryValue {
    /// Value bytes; missing bytes at the end are zero. For a per-CPU map, the value on the CPU that
    /// runs the program.
    Bytes(Vec<u8>),
    /// Name of a program of the object.
    Program(String),
    /// Name of a map, which may lie outside of the object.
    Map(String),
    /// A value in an inner map of a map of maps.
    Inner {
        /// Name of the inner map, as in [`EntryValue::Map`].
        map: String,
        /// Value bytes, as in [`EntryValue::Bytes`].
        value: Vec<u8>,
    },
}

impl EntryValue {
    /// Returns the value bytes; `None` for a program or a map.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            EntryValue::Bytes(value) | EntryValue::Inner { value, .. } => Some(value),
            EntryValue::Program(_) | EntryValue::Map(_) => None,
        }
    }
}

/// A map element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// Key; its length is the key size of the map.
    pub key: Vec<u8>,
    /// Value of the element.
    pub value: EntryValue,
}

/// The content of a map. Elements that are not listed are zero in arrays; in other maps, they do
/// not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapContent {
    /// Elements whose keys are known.
    pub entries: Vec<MapEntry>,
    /// Number of elements in addition to `entries`. Their keys are unknown, and the program never
    /// looks them up.
    pub others: u64,
    /// Properties of inner maps, by the name of the inner map; only for a map of maps.
    pub inner: BTreeMap<String, InnerContent>,
}

/// Properties of an inner map of a map of maps, in addition to its listed elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InnerContent {
    /// Number of elements in addition to the listed ones. Their keys are unknown, and the program
    /// never looks them up.
    pub others: u64,
    /// Maximum number of elements; `None` if the object's definition states the correct number.
    pub max_entries: Option<u32>,
}

/// Maximum size of the content of one map, in bytes.
pub const MAX_CONTENT_BYTES: u64 = 1 << 26;
