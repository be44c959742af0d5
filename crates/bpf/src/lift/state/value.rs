//! What is known about values while lifting: constants, which map, which stack slot, which kind of
//! pointer.
//!
//! Just enough to know the map and the constant sizes at every call, to follow function pointers,
//! to leave out code behind constant conditions (read-only variables, absent CO-RE fields), as the
//! kernel's verifier does, and to tell code generators what pointers point to. Everything else is
//! the engine's business.

use crate::lift::state::origin::Origin;

/// A map that a call can name: one of the object, or all maps out of a map of maps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct MapId {
    /// The map of the object, or the map of maps.
    map: u32,
    inner: bool,
}

impl MapId {
    /// A map of the object.
    pub fn of_object(map: u32) -> Self {
        MapId { map, inner: false }
    }

    /// The maps out of a map of maps.
    pub fn out_of(map: u32) -> Self {
        MapId { map, inner: true }
    }
}

/// The first bit of [`Known::Maps`] for maps out of maps.
pub(in crate::lift) const INNER: u32 = 64;

/// A value of a register or spilled register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum Known {
    /// Nothing.
    Nothing,
    /// No pointer into a stack frame.
    NoStack,
    /// This number.
    Const(u64),
    /// A map of the object.
    Map(u32),
    /// One of several maps, or null: the low 64 bits stand for maps of the object, the high ones
    /// for maps out of these.
    Maps(u128),
    /// A map out of this map of maps, or null.
    Inner(u32),
    /// A function: its first slot.
    Function(usize),
    /// An address in a frame's stack, relative to the frame pointer.
    Frame {
        /// Of which frame.
        depth: u8,
        /// Offset in bytes, if known.
        offset: Option<i64>,
    },
    /// An address in the only element of a map.
    Data {
        /// The map.
        map: u32,
        /// Offset in bytes.
        offset: i64,
    },
    /// An address in the program's context.
    Context {
        /// Offset in bytes.
        offset: i64,
    },
    /// An address in the packet.
    Packet {
        /// The pointer that it was made from.
        origin: Origin,
        /// Bytes behind that pointer.
        offset: i64,
    },
    /// The end of the packet.
    PacketEnd,
    /// An address in an element of a map, or null.
    MapValue {
        /// The map.
        map: u32,
        /// Offset in bytes, if known.
        offset: Option<i64>,
        /// Whether the element may have been replaced or deleted since.
        old: bool,
    },
    /// No pointer into a stack frame, but maybe one into an element of a map that is not known.
    PerhapsValue,
}

impl Known {
    /// What holds for both. `origin` names a pointer into the packet that is one of several.
    pub fn join(self, other: Known, origin: Origin) -> Known {
        let stack = |known| matches!(known, Known::Nothing | Known::Frame { .. });
        match (self, other) {
            _ if self == other => self,
            (Known::Frame { depth, .. }, Known::Frame { depth: same, .. }) if depth == same => {
                Known::Frame { depth, offset: None }
            }
            (Known::Packet { .. }, Known::Packet { .. }) => Known::Packet { origin, offset: 0 },
            (
                Known::MapValue { map, offset, old },
                Known::MapValue { map: same, offset: other, old: older },
            ) if map == same => Known::MapValue {
                map,
                offset: offset.filter(|_| offset == other),
                old: old | older,
            },
            // Null beside an element: accesses are behind a check.
            (value @ Known::MapValue { .. }, Known::Const(0))
            | (Known::Const(0), value @ Known::MapValue { .. }) => value,
            // No call takes null for a map: the verifier has seen that it is none.
            _ if let (Some(maps), Some(others)) = (self.maps(), other.maps()) => {
                Known::Maps(maps | others)
            }
            // What comes out of a map of maps may be null by itself.
            (Known::Inner(map), Known::Const(0)) | (Known::Const(0), Known::Inner(map)) => {
                Known::Inner(map)
            }
            (maps, Known::Const(0)) | (Known::Const(0), maps) if let Some(maps) = maps.maps() => {
                Known::Maps(maps)
            }
            _ if stack(self) || stack(other) => Known::Nothing,
            _ if self.may_be_value() || other.may_be_value() => Known::PerhapsValue,
            _ => Known::NoStack,
        }
    }

    /// Whether it may be a pointer into an element of a map.
    fn may_be_value(self) -> bool {
        matches!(self, Known::Nothing | Known::PerhapsValue | Known::MapValue { .. })
    }

    /// The maps that it can be, a bit for each, as in [`Known::Maps`].
    pub fn maps(self) -> Option<u128> {
        match self {
            Known::Map(map) if map < INNER => Some(1 << map),
            Known::Inner(map) if map < INNER => Some(1 << (INNER + map)),
            Known::Maps(maps) => Some(maps),
            _ => None,
        }
    }

    /// The map that a bit of [`Known::Maps`] stands for.
    pub fn of_bit(bit: u32) -> Known {
        if bit < INNER { Known::Map(bit) } else { Known::Inner(bit - INNER) }
    }

    /// The value plus a constant.
    pub fn plus(self, distance: i64) -> Known {
        match self {
            Known::Const(value) => Known::Const(value.wrapping_add(distance as u64)),
            Known::Frame { depth, offset } => {
                Known::Frame { depth, offset: offset.and_then(|o| o.checked_add(distance)) }
            }
            Known::Data { map, offset } => match offset.checked_add(distance) {
                Some(offset) => Known::Data { map, offset },
                None => Known::NoStack,
            },
            Known::Context { offset } => match offset.checked_add(distance) {
                Some(offset) => Known::Context { offset },
                None => Known::NoStack,
            },
            Known::Packet { origin, offset } => match offset.checked_add(distance) {
                Some(offset) => Known::Packet { origin, offset },
                None => Known::NoStack,
            },
            Known::MapValue { map, offset, old } => {
                Known::MapValue { map, offset: offset.and_then(|o| o.checked_add(distance)), old }
            }
            _ if distance == 0 => self,
            Known::Nothing | Known::PerhapsValue => self,
            _ => Known::NoStack,
        }
    }

    /// Whether it is an address that keeps its kind when something is added.
    pub fn is_pointer(self) -> bool {
        matches!(self, Known::Frame { .. } | Known::Packet { .. } | Known::MapValue { .. })
    }

    /// What remains of a pointer after adding something unknown. `origin` names the sum.
    pub fn moved(self, origin: Origin) -> Known {
        match self {
            Known::Frame { depth, .. } => Known::Frame { depth, offset: None },
            Known::Packet { .. } => Known::Packet { origin, offset: 0 },
            Known::MapValue { map, old, .. } => Known::MapValue { map, offset: None, old },
            Known::Nothing | Known::PerhapsValue => self,
            _ => Known::NoStack,
        }
    }
}
