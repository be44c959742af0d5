//! Abstract values: what is known about values while lifting: constants, which map, which stack slot, which kind of
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

    /// The number of the map of the object, or of the map of maps.
    pub fn number(self) -> u32 {
        self.map
    }

    /// Whether it stands for maps out of a map of maps.
    pub fn is_inner(self) -> bool {
        self.inner
    }

    /// The maps out of a map of maps.
    pub fn out_of(map: u32) -> Self {
        MapId { map, inner: true }
    }
}

/// The first bit of [`AbstractValue::OneOfMaps`] for maps out of maps.
pub(in crate::lift) const INNER: u32 = 64;

/// A value of a register or spilled register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum AbstractValue {
    /// Anything: nothing is known of it.
    Unknown,
    /// No pointer into a stack frame.
    NotStack,
    /// This number.
    Const(u64),
    /// A map of the object.
    Map(u32),
    /// One of several maps, or null: the low 64 bits stand for maps of the object, the high ones
    /// for maps out of these.
    OneOfMaps(u128),
    /// A map out of this map of maps, or null.
    InnerMap(u32),
    /// A function: its number among those whose addresses the linked program takes.
    Function(u32),
    /// One of several functions: a bit for each number.
    OneOfFunctions(u128),
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
        /// Offset in bytes, if known.
        offset: Option<i64>,
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
    MaybeMapValue,
}

impl AbstractValue {
    /// What holds for both. `origin` names a pointer into the packet that is one of several.
    pub fn join(self, other: AbstractValue, origin: Origin) -> AbstractValue {
        let stack = |known| matches!(known, AbstractValue::Unknown | AbstractValue::Frame { .. });
        match (self, other) {
            _ if self == other => self,
            (AbstractValue::Frame { depth, .. }, AbstractValue::Frame { depth: same, .. })
                if depth == same =>
            {
                AbstractValue::Frame { depth, offset: None }
            }
            (AbstractValue::Packet { .. }, AbstractValue::Packet { .. }) => {
                AbstractValue::Packet { origin, offset: 0 }
            }
            (
                AbstractValue::MapValue { map, offset, old },
                AbstractValue::MapValue { map: same, offset: other, old: older },
            ) if map == same => AbstractValue::MapValue {
                map,
                offset: offset.filter(|_| offset == other),
                old: old | older,
            },
            (
                AbstractValue::Data { map, offset },
                AbstractValue::Data { map: same, offset: other },
            ) if map == same => {
                AbstractValue::Data { map, offset: offset.filter(|_| offset == other) }
            }
            // Null beside an element: accesses are behind a check.
            (value @ AbstractValue::MapValue { .. }, AbstractValue::Const(0))
            | (AbstractValue::Const(0), value @ AbstractValue::MapValue { .. }) => value,
            // No call takes null for a map: the verifier has seen that it is none.
            _ if let (Some(maps), Some(others)) = (self.maps(), other.maps()) => {
                AbstractValue::OneOfMaps(maps | others)
            }
            // What comes out of a map of maps may be null by itself.
            (AbstractValue::InnerMap(map), AbstractValue::Const(0))
            | (AbstractValue::Const(0), AbstractValue::InnerMap(map)) => {
                AbstractValue::InnerMap(map)
            }
            (maps, AbstractValue::Const(0)) | (AbstractValue::Const(0), maps)
                if let Some(maps) = maps.maps() =>
            {
                AbstractValue::OneOfMaps(maps)
            }
            _ if let (Some(functions), Some(others)) = (self.functions(), other.functions()) => {
                AbstractValue::OneOfFunctions(functions | others)
            }
            _ if stack(self) || stack(other) => AbstractValue::Unknown,
            _ if self.may_be_value() || other.may_be_value() => AbstractValue::MaybeMapValue,
            _ => AbstractValue::NotStack,
        }
    }

    /// Whether it may be a pointer into an element of a map.
    fn may_be_value(self) -> bool {
        matches!(
            self,
            AbstractValue::Unknown | AbstractValue::MaybeMapValue | AbstractValue::MapValue { .. }
        )
    }

    /// The functions that it can be, as in [`AbstractValue::OneOfFunctions`].
    fn functions(self) -> Option<u128> {
        match self {
            AbstractValue::Function(number) if number < u128::BITS => Some(1 << number),
            AbstractValue::OneOfFunctions(functions) => Some(functions),
            _ => None,
        }
    }

    /// The maps that it can be, a bit for each, as in [`AbstractValue::OneOfMaps`].
    pub fn maps(self) -> Option<u128> {
        match self {
            AbstractValue::Map(map) if map < INNER => Some(1 << map),
            AbstractValue::InnerMap(map) if map < INNER => Some(1 << (INNER + map)),
            AbstractValue::OneOfMaps(maps) => Some(maps),
            _ => None,
        }
    }

    /// The map that a bit of [`AbstractValue::OneOfMaps`] stands for.
    pub fn of_bit(bit: u32) -> AbstractValue {
        if bit < INNER { AbstractValue::Map(bit) } else { AbstractValue::InnerMap(bit - INNER) }
    }

    /// The value plus a constant.
    pub fn plus(self, distance: i64) -> AbstractValue {
        match self {
            AbstractValue::Const(value) => {
                AbstractValue::Const(value.wrapping_add(distance as u64))
            }
            AbstractValue::Frame { depth, offset } => {
                AbstractValue::Frame { depth, offset: offset.and_then(|o| o.checked_add(distance)) }
            }
            AbstractValue::Data { map, offset } => {
                AbstractValue::Data { map, offset: offset.and_then(|o| o.checked_add(distance)) }
            }
            AbstractValue::Context { offset } => match offset.checked_add(distance) {
                Some(offset) => AbstractValue::Context { offset },
                None => AbstractValue::NotStack,
            },
            AbstractValue::Packet { origin, offset } => match offset.checked_add(distance) {
                Some(offset) => AbstractValue::Packet { origin, offset },
                None => AbstractValue::NotStack,
            },
            AbstractValue::MapValue { map, offset, old } => AbstractValue::MapValue {
                map,
                offset: offset.and_then(|o| o.checked_add(distance)),
                old,
            },
            _ if distance == 0 => self,
            AbstractValue::Unknown | AbstractValue::MaybeMapValue => self,
            _ => AbstractValue::NotStack,
        }
    }

    /// Whether it is an address that keeps its kind when something is added.
    pub fn is_pointer(self) -> bool {
        matches!(
            self,
            AbstractValue::Frame { .. }
                | AbstractValue::Packet { .. }
                | AbstractValue::MapValue { .. }
                | AbstractValue::Data { .. }
        )
    }

    /// What remains of a pointer after adding something unknown. `origin` names the sum.
    pub fn moved(self, origin: Origin) -> AbstractValue {
        match self {
            AbstractValue::Frame { depth, .. } => AbstractValue::Frame { depth, offset: None },
            AbstractValue::Packet { .. } => AbstractValue::Packet { origin, offset: 0 },
            AbstractValue::MapValue { map, old, .. } => {
                AbstractValue::MapValue { map, offset: None, old }
            }
            AbstractValue::Data { map, .. } => AbstractValue::Data { map, offset: None },
            AbstractValue::Unknown | AbstractValue::MaybeMapValue => self,
            _ => AbstractValue::NotStack,
        }
    }
}
