//! Memory regions of a lifted program, and the layout of map regions.
//!
//! The values of a map are one region; an element's number is its place in the region. The number
//! is an index (arrays), the key itself (keys of up to 4 bytes), or it represents the words of the
//! key ([`slowpath_ir::BinaryOp::Intern`]). Equal keys have equal numbers; different keys have
//! different numbers. The distance between elements is a power of two, so an address determines the
//! element and the byte in it. A second region has a byte for each element: whether it exists. The
//! unknown initial content of both regions represents the content from user space.

use slowpath_ir::{InputId, Operand, RegionId};

use crate::maps::MapKind;

/// Memory regions of a lifted program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Return value of the program, 8 bytes: an XDP action in the low 32 bits.
    pub result: RegionId,
    /// The packet as received; offset 0 is its first byte.
    pub packet: RegionId,
    /// `struct xdp_md`.
    pub context: RegionId,
    /// Record of calls, if calls are recorded. The first 8 bytes are the length of the record in
    /// bytes; the record follows as 8-byte numbers. Zero at the start.
    pub calls: Option<RegionId>,
    /// Maps that the program uses.
    pub maps: Vec<MapLayout>,
}

/// Numbering of the elements of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// By the key, an index below `max_entries`.
    Index,
    /// By the key, which has up to 4 bytes.
    Number,
    /// By [`slowpath_ir::BinaryOp::Intern`] of the key's 8-byte words.
    Interned,
}

/// Layout of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Name of the map; all inner maps of a map of maps together are called `OUTER.inner`.
    pub name: String,
    /// Map type.
    pub kind: MapKind,
    /// Maximum number of elements in the object's definition.
    pub max_entries: u32,
    /// Key size in bytes.
    pub key_size: u32,
    /// Value size in bytes.
    pub value_size: u32,
    /// Numbering of the elements.
    pub keying: Keying,
    /// Values; element `n` starts at byte `n << element_bits`.
    pub values: RegionId,
    /// Binary logarithm of the distance between values, see [`MapLayout::values`].
    pub element_bits: u8,
    /// Existence of elements, one byte each; `None` if all elements exist.
    pub present: Option<RegionId>,
    /// Place of each element in [`MapLayout::values`], four bytes each. Only if different elements
    /// may be identical: trie entries that a key finds, or maps in a map of maps.
    pub identity: Option<RegionId>,
    /// Moves of elements, eight bytes each: exclusive-or of the element's number and its place;
    /// zero at the start. Only if replacing an element moves it.
    pub moved: Option<RegionId>,
    /// Notes on the first access to an element, one byte each: 1 if it was absent at the start, 2
    /// if it existed. At most `max_entries` elements existed, whatever [`MapLayout::present`]
    /// contains.
    pub first_access: Option<RegionId>,
    /// Prefix lengths, for a trie with several lookups; two bytes for each key. The length in bits
    /// of the longest entry that is a prefix of the key, plus one; zero without such an entry.
    /// Elements are then the entries.
    pub prefix_lengths: Option<RegionId>,
    /// Number of free elements at the start, if tracked.
    pub free_elements: Option<FreeElements>,
    /// Fill levels at the start, for inner maps of a map of maps, if tracked.
    pub fill: Option<MapFill>,
    /// Sizes of arrays in an array of maps, if they differ; four bytes for each map, as in
    /// [`MapFill`]: the exclusive-or of the size and `max_entries` of the object.
    pub sizes: Option<RegionId>,
    /// True if the layout represents all inner maps of a map of maps; the first word of a key is
    /// then the map's address.
    pub inner: bool,
}

/// Note on a key at its first access in a run.
pub(in crate::lift) const ABSENT: u64 = 1;

pub(in crate::lift) const PRESENT: u64 = 2;

/// Input that determines the fill level of a map at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeElements {
    /// Number of free elements.
    pub free: InputId,
    /// Maximum number of elements.
    pub max_entries: u32,
}

/// Fill levels of the maps in a map of maps at the start. Four bytes for each map, by the number
/// that represents it ([`slowpath_ir::BinaryOp::Intern`] of its address and zero).
///
/// A map of maps can contain maps of any size that the object does not define. So a fill level is
/// the number of elements that the map would have if its size were `max_entries`: only the number
/// of free elements matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapFill {
    /// Region of the fill levels.
    pub used: RegionId,
    /// Maximum number of elements in the object's definition.
    pub max_entries: u32,
    /// Lower bound of fill levels, if maps are large enough for everything that a run can do.
    /// Smaller stored numbers count as this one, numbers above `max_entries` as `max_entries`.
    pub least: Option<u32>,
}

impl MapFill {
    pub(in crate::lift) fn most(&self) -> Operand {
        Operand::constant(32, self.max_entries.into())
    }

    /// Returns the number of elements of a map for the stored number `noted`.
    pub fn elements(&self, noted: u32) -> u32 {
        self.least.map_or(noted, |least| noted.clamp(least, self.max_entries))
    }
}

/// Splits `bytes` bytes into pieces of at most 8 bytes; returns offset and size of each.
pub(in crate::lift) fn chunks(bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    (0..bytes).step_by(8).map(move |offset| (offset.into(), (bytes - offset).min(8) as u8))
}
