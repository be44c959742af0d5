//! Abstract values: constants, maps, stack slots and kinds of pointers.
//!
//! The domain is just precise enough for these purposes:
//!
//! - to know the map and the constant sizes of every call, and to follow function pointers;
//! - to skip code behind constant conditions (read-only variables, absent CO-RE fields), as the
//!   kernel's verifier does;
//! - to tell code generators the kinds of pointers.
//!
//! Symbolic execution provides everything else.

use crate::lift::state::origin::Origin;

/// A map that a call can use: a map of the object, or all inner maps of a map of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct MapId {
    /// Index of the map, or of the map of maps.
    map: u32,
    inner: bool,
}

impl MapId {
    /// Returns the identifier of a map of the object.
    pub fn of_object(map: u32) -> Self {
        MapId { map, inner: false }
    }

    /// Returns the index of the map, or of the map of maps.
    pub fn number(self) -> u32 {
        self.map
    }

    /// Returns true if the identifier represents the inner maps of a map of maps.
    pub fn is_inner(self) -> bool {
        self.inner
    }

    /// Returns the identifier of the inner maps of a map of maps.
    pub fn inner_of(map: u32) -> Self {
        MapId { map, inner: true }
    }
}

/// First bit of [`AbstractValue::OneOfMaps`] for inner maps.
pub(in crate::lift) const INNER: u32 = 64;

/// Abstract value of a register or spilled register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum AbstractValue {
    /// Any value.
    Unknown,
    /// Any value that is not a pointer into a stack frame.
    NotStack,
    /// This number.
    Const(u64),
    /// A map of the object.
    Map(u32),
    /// One of several maps, or null: the low 64 bits represent maps of the object, the high 64 bits
    /// inner maps of maps of maps.
    OneOfMaps(u128),
    /// An inner map of this map of maps, or null.
    InnerMap(u32),
    /// A function, by index among those whose addresses the linked program takes.
    Function(u32),
    /// One of several functions, one bit for each index.
    OneOfFunctions(u128),
    /// An address in a stack frame, relative to the frame pointer.
    Frame {
        /// Depth of the frame.
        depth: u8,
        /// Offset in bytes, if known.
        offset: Option<i64>,
    },
    /// An address in the only element of a map.
    Data {
        /// Index of the map.
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
        /// Origin of the pointer.
        origin: Origin,
        /// Distance in bytes from the origin.
        offset: i64,
    },
    /// The end of the packet.
    PacketEnd,
    /// An address in an element of a map, or null.
    MapValue {
        /// Index of the map.
        map: u32,
        /// Offset in bytes, if known.
        offset: Option<i64>,
        /// True if the element may have been replaced or deleted since.
        old: bool,
    },
    /// Any value that is not a pointer into a stack frame, possibly a pointer into an element of an
    /// unknown map.
    MaybeMapValue,
}

impl AbstractValue {
    /// Returns the join of two values. `origin` is the origin of a packet pointer that is one of
    /// several.
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
            // Null or an element: the program checks for null before it accesses the element.
            (value @ AbstractValue::MapValue { .. }, AbstractValue::Const(0))
            | (AbstractValue::Const(0), value @ AbstractValue::MapValue { .. }) => value,
            // Map arguments are never null: the verifier checks this.
            _ if let (Some(maps), Some(others)) = (self.maps(), other.maps()) => {
                AbstractValue::OneOfMaps(maps | others)
            }
            // Inner maps can already be null.
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

    /// Returns true if the value may be a pointer into a map element.
    fn may_be_value(self) -> bool {
        matches!(
            self,
            AbstractValue::Unknown | AbstractValue::MaybeMapValue | AbstractValue::MapValue { .. }
        )
    }

    /// Returns the possible functions, as in [`AbstractValue::OneOfFunctions`].
    fn functions(self) -> Option<u128> {
        match self {
            AbstractValue::Function(number) if number < u128::BITS => Some(1 << number),
            AbstractValue::OneOfFunctions(functions) => Some(functions),
            _ => None,
        }
    }

    /// Returns the possible maps, one bit for each, as in [`AbstractValue::OneOfMaps`].
    pub fn maps(self) -> Option<u128> {
        match self {
            AbstractValue::Map(map) if map < INNER => Some(1 << map),
            AbstractValue::InnerMap(map) if map < INNER => Some(1 << (INNER + map)),
            AbstractValue::OneOfMaps(maps) => Some(maps),
            _ => None,
        }
    }

    /// Returns the map that a bit of [`AbstractValue::OneOfMaps`] represents.
    pub fn of_bit(bit: u32) -> AbstractValue {
        if bit < INNER { AbstractValue::Map(bit) } else { AbstractValue::InnerMap(bit - INNER) }
    }

    /// Returns the value plus a constant.
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

    /// Returns true if the value is an address that stays of the same kind after an addition.
    pub fn is_pointer(self) -> bool {
        matches!(
            self,
            AbstractValue::Frame { .. }
                | AbstractValue::Packet { .. }
                | AbstractValue::MapValue { .. }
                | AbstractValue::Data { .. }
        )
    }

    /// Returns the value of a pointer after adding an unknown number. `origin` is the origin of the
    /// sum.
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
