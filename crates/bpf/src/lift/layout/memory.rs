//! Describes the memory regions of a lifted program, and the layout of the regions that hold maps.
//!
//! The values of a map are in one region, in which an element's number is its position. For arrays,
//! the number is the index. For keys of up to 4 bytes, it is the key itself. Otherwise, it
//! represents the words of the key ([`slowpath_ir::BinaryOp::Intern`]). Equal keys have equal
//! numbers; different keys have different numbers. The distance between elements is a power of two,
//! so an address determines the element and the byte in it. A second region has a byte for each
//! element, which is zero if the element does not exist. The initial content of both regions is
//! unknown, because user space may have written anything.

use slowpath_ir::{InputId, Operand, RegionId};

use crate::context::ProgramType;
use crate::maps::MapKind;

/// Memory regions of a lifted program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Type of the program, which defines its context and its return values.
    pub program_type: &'static ProgramType,
    /// Region with the return value of the program: 8 bytes, of which the kernel uses the low 32
    /// bits.
    pub result: RegionId,
    /// The packet as received; offset 0 is its first byte.
    pub packet: RegionId,
    /// The context of the program, such as a `struct xdp_md`.
    pub context: RegionId,
    /// Region that records helper calls and their arguments: the length of the record in bytes,
    /// then the record as 8-byte numbers. The region is zero at the start; `None` if calls are not
    /// recorded.
    pub calls: Option<RegionId>,
    /// Maps that the program uses.
    pub maps: Vec<MapLayout>,
}

/// Rule by which a key determines the number of its map element. This number determines where the
/// element is in the memory regions of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// The element's number is its key, an index below `max_entries`.
    Index,
    /// The element's number is its key, which has up to 4 bytes.
    Number,
    /// The element's number is [`slowpath_ir::BinaryOp::Intern`] of the key's 8-byte words.
    Interned,
}

/// The memory regions that hold the content of a map, and the properties needed to read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Name of the map; `OUTER.inner` for all inner maps of the map of maps `OUTER`.
    pub name: String,
    /// Map type.
    pub kind: MapKind,
    /// Maximum number of elements in the object's definition.
    pub max_entries: u32,
    /// Key size in bytes.
    pub key_size: u32,
    /// Value size in bytes.
    pub value_size: u32,
    /// Rule by which a key determines the number of its element.
    pub keying: Keying,
    /// Memory region with the values of all elements; the value of element `n` starts at byte `n <<
    /// element_bits`.
    pub values: RegionId,
    /// Binary logarithm of the distance between values in [`MapLayout::values`].
    pub element_bits: u8,
    /// Region with one byte for each element, which is zero if the element does not exist. `None`
    /// if all elements exist.
    pub present: Option<RegionId>,
    /// Region with the position of each element in [`MapLayout::values`], four bytes for each.
    /// Exists only if different numbers may stand for the same element. Examples are keys that find
    /// the same trie entry, and keys with the same inner map.
    pub identity: Option<RegionId>,
    /// Region that records moves of elements, eight bytes for each element: the exclusive-or of the
    /// element's number and its position, zero at the start. Exists only if replacing an element
    /// moves it.
    pub moved: Option<RegionId>,
    /// Region with one byte for each element, which records whether the element existed at the
    /// start of the run. The first access to the element sets the byte: 1 if the element was
    /// absent, 2 if it existed. At most `max_entries` elements count as existing, even if
    /// [`MapLayout::present`] marks more.
    pub first_access: Option<RegionId>,
    /// Region with the result of a lookup for each key, two bytes each, for a longest-prefix-match
    /// trie with several lookups. A result is the length in bits of the found trie entry plus one,
    /// or zero if no entry is a prefix of the key. The elements of [`MapLayout::values`] are then
    /// the entries of the trie.
    pub prefix_lengths: Option<RegionId>,
    /// Number of free elements at the start of the program: elements that can be inserted before
    /// the map is full. `None` if the number is not tracked.
    pub free_elements: Option<FreeElements>,
    /// Numbers of elements in the inner maps of a map of maps at the start of the program. `None`
    /// if these numbers are not tracked.
    pub fill: Option<MapFill>,
    /// Region with the sizes of the arrays in an array of maps, four bytes for each array, at the
    /// same positions as in [`MapFill`]. A stored number is the exclusive-or of the size and the
    /// object's `max_entries`. `None` if all arrays have the same size.
    pub sizes: Option<RegionId>,
    /// True if the layout represents all inner maps of a map of maps. The first word of a key is
    /// then the address of the inner map.
    pub inner: bool,
}

/// Value in [`MapLayout::first_access`] for an element that did not exist at the start of the run.
pub(in crate::lift) const ABSENT: u64 = 1;

pub(in crate::lift) const PRESENT: u64 = 2;

/// The number of elements that can be inserted into a map before it is full, when the program
/// starts. It is an unknown input of the lifted program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeElements {
    /// Unknown input of the lifted program that contains the number of free elements.
    pub free: InputId,
    /// Maximum number of elements in the map.
    pub max_entries: u32,
}

/// Fill levels of the inner maps in a map of maps: their numbers of elements at the start. A memory
/// region has four bytes for each inner map, at the position that the map's number gives
/// ([`slowpath_ir::BinaryOp::Intern`] of its address and zero).
///
/// The loader can give a map in a map of maps another size than the object defines. Only its number
/// of free elements matters. A fill level is therefore the number of elements that the map would
/// have if its size were `max_entries`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapFill {
    /// Memory region that contains the fill levels, four bytes for each inner map.
    pub used: RegionId,
    /// Maximum number of elements in the object's definition.
    pub max_entries: u32,
    /// Smallest possible fill level. At this level, the map has room for all elements that a run
    /// can insert. A stored number below this level stands for this level, and a number above
    /// `max_entries` for `max_entries`. `None` if each stored number is a fill level.
    pub least: Option<u32>,
}

impl MapFill {
    pub(in crate::lift) fn most(&self) -> Operand {
        Operand::constant(32, self.max_entries.into())
    }

    /// Returns the fill level that a number stored in the region stands for.
    pub fn elements(&self, stored: u32) -> u32 {
        self.least.map_or(stored, |least| stored.clamp(least, self.max_entries))
    }
}

/// Splits `bytes` bytes into pieces of at most 8 bytes; returns the offset and size of each.
pub(in crate::lift) fn chunks(bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    (0..bytes).step_by(8).map(move |offset| (offset.into(), (bytes - offset).min(8) as u8))
}
