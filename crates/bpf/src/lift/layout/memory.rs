//! Which regions of memory a lifted program has, and what stands where in those of maps.
//!
//! The values of a map are one region; an element's number is its place in it. Numbers are indices
//! (arrays), the keys themselves (keys of up to 4 bytes), or stand for the key's words
//! ([`slowpath_ir::BinaryOp::Intern`]): equal keys have equal numbers, different ones have different
//! ones. Elements are a power of two apart, so that addresses say which element and which byte in it.
//! Whether an element exists is a byte in a second region. What user space may have put into a map
//! is the unknown initial content of both.

use slowpath_ir::{InputId, Operand, RegionId};

use crate::maps::MapKind;

/// Where things are in a lifted program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What the program returned, 8 bytes: an XDP action in the low 32 bits.
    pub result: RegionId,
    /// The packet as received; offset 0 is its first byte.
    pub packet: RegionId,
    /// `struct xdp_md`.
    pub context: RegionId,
    /// Where calls leave what they are given, if that is recorded: how many bytes that are, in 8
    /// bytes, and these behind it, 8 bytes each number; zero at the start.
    pub calls: Option<RegionId>,
    /// The maps that the program uses.
    pub maps: Vec<MapLayout>,
}

/// How the elements of a map are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// By the key, which is an index below `max_entries`.
    Index,
    /// By the key of up to 4 bytes.
    Number,
    /// By [`slowpath_ir::BinaryOp::Intern`] of the key's 8-byte words.
    Interned,
}

/// Where a map's elements are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Its name; maps out of a map of maps are called `OUTER.inner` together.
    pub name: String,
    /// Its type.
    pub kind: MapKind,
    /// How many elements it can have, as the object says.
    pub max_entries: u32,
    /// In bytes.
    pub key_size: u32,
    /// In bytes.
    pub value_size: u32,
    /// How elements are numbered.
    pub keying: Keying,
    /// The values; element `n` starts at byte `n << element_bits`.
    pub values: RegionId,
    /// See [`MapLayout::values`].
    pub element_bits: u8,
    /// One byte an element: whether it exists. `None` if all do.
    pub present: Option<RegionId>,
    /// Where different elements may be the same (entries of a trie that a key finds, maps in a map
    /// of maps): four bytes an element, the number of its place in [`MapLayout::values`].
    pub identity: Option<RegionId>,
    /// Where elements are moved when they are replaced: eight bytes an element, exclusive-or of its
    /// number and the number of its place; zero at the start.
    pub moved: Option<RegionId>,
    /// Where a run notes what it finds at the start: a byte an element, 1 for an absent one, 2 for
    /// one that exists. More than `max_entries` never do, whatever [`MapLayout::present`] says.
    pub seen: Option<RegionId>,
    /// Of a trie in which several look-ups are made: two bytes a key, one more than the length in
    /// bits of the longest entry that is a prefix of it, zero if there is none. Elements are the
    /// entries then.
    pub lengths: Option<RegionId>,
    /// How many more elements there is room for at the start, where that is tracked.
    pub room: Option<MapRoom>,
    /// How full it is at the start, for maps out of a map of maps, where that is tracked.
    pub fill: Option<MapFill>,
    /// How many elements arrays out of an array of maps have, where they differ: four bytes a map,
    /// as in [`MapFill`], the exclusive-or of that and `max_entries` of the object.
    pub sizes: Option<RegionId>,
    /// Whether it stands for all maps out of a map of maps, whose address is the first word then.
    pub inner: bool,
}

/// What a run notes about a key when it meets it first.
pub(in crate::lift) const ABSENT: u64 = 1;

pub(in crate::lift) const PRESENT: u64 = 2;

/// The unknown that says how full a map is at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRoom {
    /// How many more elements there is room for.
    pub free: InputId,
    /// How many elements there can be.
    pub max_entries: u32,
}

/// How full the maps in a map of maps are at the start: four bytes a map, by the number that stands
/// for it ([`slowpath_ir::BinaryOp::Intern`] of its address and zero).
///
/// Other maps than those that the object defines can be in a map of maps, of any size. So these are
/// the elements that a map would have if its size were `max_entries`: what matters is how many more
/// there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapFill {
    /// The numbers of elements.
    pub used: RegionId,
    /// How many elements there can be, as the object says.
    pub max_entries: u32,
    /// Numbers below this count as this one, and those above `max_entries` as that, if maps are large
    /// enough for all that a run can do.
    pub least: Option<u32>,
}

impl MapFill {
    pub(in crate::lift) fn most(&self) -> Operand {
        Operand::constant(32, self.max_entries.into())
    }

    /// How many elements a map has of which this is noted.
    pub fn elements(&self, noted: u32) -> u32 {
        self.least.map_or(noted, |least| noted.clamp(least, self.max_entries))
    }
}

/// Offsets and sizes of the pieces of at most 8 bytes that some bytes consist of.
pub(in crate::lift) fn chunks(bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    (0..bytes).step_by(8).map(move |offset| (offset.into(), (bytes - offset).min(8) as u8))
}
