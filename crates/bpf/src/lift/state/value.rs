//! Defines abstract values, which describe the knowledge about a value: constants, maps, stack
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
    /// Index of the map in the object. For inner maps, index of the map of maps.
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

/// A set of maps. The numbers below [`MapSet::INNER`] stand for maps of the object. The number
/// `INNER + n` stands for the inner maps of the map of maps with index `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct MapSet {
    of_object: u128,
    inner: u128,
}

impl MapSet {
    /// The smallest number that stands for inner maps. Maps of the object can be in a set only if
    /// their index is smaller. A program uses at most 64 maps (`MAX_USED_MAPS`), but an object can
    /// have more.
    pub const INNER: u32 = u128::BITS;

    /// Returns the set that contains only the map with the number `number`; `None` if the number is
    /// too large for a set.
    pub fn of(number: u32) -> Option<MapSet> {
        match number.checked_sub(MapSet::INNER) {
            None => Some(MapSet { of_object: 1 << number, inner: 0 }),
            Some(inner) => Some(MapSet { of_object: 0, inner: 1_u128.checked_shl(inner)? }),
        }
    }

    /// Returns the union of both sets.
    pub fn with(self, other: MapSet) -> MapSet {
        MapSet { of_object: self.of_object | other.of_object, inner: self.inner | other.inner }
    }

    /// Returns the lowest number in the set that is at least `from`; `None` if there is none.
    pub fn next(self, from: u32) -> Option<u32> {
        let lowest = |bits: u128, from| {
            let rest = bits.checked_shr(from).filter(|&rest| rest != 0)?;
            Some(from + rest.trailing_zeros())
        };
        let inner = from.saturating_sub(MapSet::INNER);
        lowest(self.of_object, from).or_else(|| Some(MapSet::INNER + lowest(self.inner, inner)?))
    }

    /// Returns true if the set contains inner maps of several maps of maps.
    pub fn mixes_inner_maps(self) -> bool {
        self.inner.count_ones() > 1
    }
}

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
    /// The address of one of the maps in the set, or null.
    OneOfMaps(MapSet),
    /// The address of an inner map of a map of maps, which is given by its index, or null.
    InnerMap(u32),
    /// The address of a function, given by its index among the functions whose addresses the linked
    /// program takes.
    Function(u32),
    /// The address of one of several functions. Bit `n` is set if it may be the function with index
    /// `n`.
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
                AbstractValue::OneOfMaps(maps.with(others))
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

    /// Returns true if the value may point into a map element.
    fn may_be_value(self) -> bool {
        matches!(
            self,
            AbstractValue::Unknown | AbstractValue::MaybeMapValue | AbstractValue::MapValue { .. }
        )
    }

    /// Returns the set of functions whose address the value may be, in the bit format of
    /// [`AbstractValue::OneOfFunctions`]. Returns `None` if they are unknown.
    fn functions(self) -> Option<u128> {
        match self {
            AbstractValue::Function(number) if number < u128::BITS => Some(1 << number),
            AbstractValue::OneOfFunctions(functions) => Some(functions),
            _ => None,
        }
    }

    /// Returns the set of maps whose address the value may be. Returns `None` if they are unknown.
    pub fn maps(self) -> Option<MapSet> {
        match self {
            AbstractValue::Map(map) if map < MapSet::INNER => MapSet::of(map),
            AbstractValue::InnerMap(map) => MapSet::of(map.checked_add(MapSet::INNER)?),
            AbstractValue::OneOfMaps(maps) => Some(maps),
            _ => None,
        }
    }

    /// Returns the abstract value for the address of a map. `number` is the map's number in a
    /// [`MapSet`].
    pub fn of_number(number: u32) -> AbstractValue {
        match number.checked_sub(MapSet::INNER) {
            None => AbstractValue::Map(number),
            Some(outer) => AbstractValue::InnerMap(outer),
        }
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

    /// Returns true if the value is an address that stays in its memory region when a number is
    /// added.
    pub fn is_pointer(self) -> bool {
        matches!(
            self,
            AbstractValue::Frame { .. }
                | AbstractValue::Packet { .. }
                | AbstractValue::MapValue { .. }
                | AbstractValue::Data { .. }
        )
    }

    /// Returns the abstract value of the sum of a pointer and an unknown number. `origin` is the
    /// origin of the sum if the pointer points into the packet.
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
