//! Defines abstract values, which describe what is known about a value: constants, maps, stack
//! slots and kinds of pointers.
//!
//! Abstract values are precise enough for these purposes only:
//!
//! - to know the map and the constant sizes of every call, and to follow function pointers;
//! - to skip code behind constant conditions (read-only variables, absent CO-RE fields), as the
//!   kernel's verifier does;
//! - to tell code generators the kinds of pointers.
//!
//! Symbolic execution computes all other values.

use crate::lift::state::origin::Origin;

/// Identifier of the map that a call uses: a map of the object, or any inner map of a map of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lift) struct MapId {
    /// Index of the map of the object, or of the map of maps.
    map: u32,
    inner: bool,
}

impl MapId {
    pub fn of_object(map: u32) -> Self {
        MapId { map, inner: false }
    }

    pub fn number(self) -> u32 {
        self.map
    }

    /// Returns true if the identifier represents the inner maps of a map of maps.
    pub fn is_inner(self) -> bool {
        self.inner
    }

    pub fn inner_of(map: u32) -> Self {
        MapId { map, inner: true }
    }
}

/// Number of the first bit of [`AbstractValue::OneOfMaps`] that represents inner maps.
pub(in crate::lift) const INNER: u32 = 64;

/// Knowledge about the value in a register or spilled register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum AbstractValue {
    /// Any value.
    Unknown,
    /// Any value that is not a pointer into a stack frame.
    NotStack,
    /// A number that is the same on all paths.
    Const(u64),
    /// The address of a map of the object, which is given by its index.
    Map(u32),
    /// The address of one of several maps, or null. Each bit stands for a possible map: the low 64
    /// bits for maps of the object, the high 64 bits for inner maps.
    OneOfMaps(u128),
    /// The address of an inner map of a map of maps, which is given by its index, or null.
    InnerMap(u32),
    /// The address of a function, given by its index among the functions whose addresses the linked
    /// program takes.
    Function(u32),
    /// The address of one of several functions; bit `n` stands for the function with index `n`.
    OneOfFunctions(u128),
    /// An address in a stack frame, relative to the frame pointer.
    Frame {
        /// Call depth of the frame; 0 for the program's entry function.
        depth: u8,
        /// Offset in bytes from the frame pointer; `None` if unknown.
        offset: Option<i64>,
    },
    /// An address in a section of global variables, which is the only element of a map.
    Data {
        /// Index of the map that contains the variables.
        map: u32,
        /// Offset in bytes from the start of the section; `None` if unknown.
        offset: Option<i64>,
    },
    /// An address in the context (`struct xdp_md`).
    Context {
        /// Offset in bytes from the start of the context.
        offset: i64,
    },
    /// An address in the packet.
    Packet {
        /// Address from which `offset` is counted.
        origin: Origin,
        /// Distance in bytes from the origin.
        offset: i64,
    },
    /// The address of the packet's end.
    PacketEnd,
    /// An address in an element of a map, or null.
    MapValue {
        /// Index of the map that contains the element.
        map: u32,
        /// Offset in bytes from the start of the element; `None` if unknown.
        offset: Option<i64>,
        /// True if the element may have been replaced or deleted since the program obtained the
        /// pointer.
        old: bool,
    },
    /// Any value that is not a pointer into a stack frame, possibly a pointer into an element of an
    /// unknown map.
    MaybeMapValue,
}

impl AbstractValue {
    /// Returns an abstract value that includes both values. If they are different packet pointers,
    /// `origin` is the origin of the result.
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
            // The program checks for null before it accesses the element.
            (value @ AbstractValue::MapValue { .. }, AbstractValue::Const(0))
            | (AbstractValue::Const(0), value @ AbstractValue::MapValue { .. }) => value,
            // Map arguments of calls are never null: the verifier checks this.
            _ if let (Some(maps), Some(others)) = (self.maps(), other.maps()) => {
                AbstractValue::OneOfMaps(maps | others)
            }
            // The value `InnerMap` includes null.
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

    /// Returns the set of functions that the value may be, in the bit format of
    /// [`AbstractValue::OneOfFunctions`]. Returns `None` if they are unknown.
    fn functions(self) -> Option<u128> {
        match self {
            AbstractValue::Function(number) if number < u128::BITS => Some(1 << number),
            AbstractValue::OneOfFunctions(functions) => Some(functions),
            _ => None,
        }
    }

    /// Returns the set of maps that the value may be, in the bit format of
    /// [`AbstractValue::OneOfMaps`]. Returns `None` if they are unknown.
    pub fn maps(self) -> Option<u128> {
        match self {
            AbstractValue::Map(map) if map < INNER => Some(1 << map),
            AbstractValue::InnerMap(map) if map < INNER => Some(1 << (INNER + map)),
            AbstractValue::OneOfMaps(maps) => Some(maps),
            _ => None,
        }
    }

    /// Returns the address of the map for which the bit with this number stands in
    /// [`AbstractValue::OneOfMaps`].
    pub fn of_bit(bit: u32) -> AbstractValue {
        if bit < INNER { AbstractValue::Map(bit) } else { AbstractValue::InnerMap(bit - INNER) }
    }

    /// Returns the abstract value of the sum of this value and a constant.
    pub fn plus(self, distance: i64) -> AbstractValue {
        let sum = |offset: Option<i64>| offset?.checked_add(distance);
        let known = |offset, pointer: &dyn Fn(i64) -> AbstractValue| {
            sum(Some(offset)).map_or(AbstractValue::NotStack, pointer)
        };
        match self {
            AbstractValue::Const(value) => {
                AbstractValue::Const(value.wrapping_add(distance as u64))
            }
            AbstractValue::Frame { depth, offset } => {
                AbstractValue::Frame { depth, offset: sum(offset) }
            }
            AbstractValue::Data { map, offset } => AbstractValue::Data { map, offset: sum(offset) },
            AbstractValue::Context { offset } => {
                known(offset, &|offset| AbstractValue::Context { offset })
            }
            AbstractValue::Packet { origin, offset } => {
                known(offset, &|offset| AbstractValue::Packet { origin, offset })
            }
            AbstractValue::MapValue { map, offset, old } => {
                AbstractValue::MapValue { map, offset: sum(offset), old }
            }
            _ if distance == 0 => self,
            AbstractValue::Unknown | AbstractValue::MaybeMapValue => self,
            _ => AbstractValue::NotStack,
        }
    }

    /// Returns true if the value is an address, and an added number cannot change the memory region
    /// to which it points.
    pub fn is_pointer(self) -> bool {
        matches!(
            self,
            AbstractValue::Frame { .. }
                | AbstractValue::Packet { .. }
                | AbstractValue::MapValue { .. }
                | AbstractValue::Data { .. }
        )
    }

    /// Returns the abstract value of the sum of a pointer and an unknown number. If the pointer
    /// points into the packet, `origin` is the origin of the sum.
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
