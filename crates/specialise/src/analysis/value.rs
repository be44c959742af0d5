//! Abstract values of registers and memory.

use super::fact_set::FactSet;
use super::numbers::Number;
use slowpath_domain::Domain;

/// Kind of a 64-bit value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A number in this domain.
    Number(Domain),
    /// The address of a packet byte.
    Packet {
        /// Offset from the packet's first byte.
        offset: i64,
        /// Number of bytes from the start of the packet that bounds checks have proved for this
        /// pointer (`bpf_reg_state::range` of the kernel's verifier).
        checked: i64,
    },
    /// The address of a byte of the packet, at an unknown offset.
    SomewhereInPacket,
    /// The address after the packet's last byte.
    PacketEnd,
    /// An address in the stack frame, relative to the frame pointer.
    Stack(i64),
    /// The context.
    Context,
    /// An address in the value of a map with one element.
    GlobalData {
        /// Number of the map.
        map: u32,
        /// Offset from the value's first byte.
        offset: i64,
    },
    /// An address that a map look-up returned, plus an offset.
    MapValue {
        /// Number of the map.
        map: u32,
        /// Offset from the value's first byte.
        offset: i64,
        /// Set of entries that the look-up may have found, for maps with known content.
        entries: u64,
        /// True if the value may also be null.
        null: bool,
    },
    /// A number, or an address that is neither in the packet nor on the stack.
    NumberOrOtherAddress,
    /// Any number or address.
    Any,
}

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub kind: Kind,
    /// Value number. Values with the same number are equal.
    pub number: Number,
    /// Facts that `kind` depends on.
    pub reason: FactSet,
    /// Register that the value was copied from; `None` after this register has changed.
    pub copy_of: Option<u8>,
}

impl Value {
    /// Creates a value that depends on no facts.
    pub fn new(kind: Kind, number: Number) -> Value {
        Value { kind, number, reason: FactSet::NONE, copy_of: None }
    }

    /// Returns the number if it is known.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            Kind::Number(domain) => domain.as_constant(),
            _ => None,
        }
    }

    /// Returns the possible numbers, as a 64-bit domain.
    pub fn domain(&self) -> Domain {
        match self.kind {
            Kind::Number(domain) => domain,
            _ => Domain::full(64),
        }
    }
}

impl Kind {
    /// Returns a kind that covers both kinds.
    pub fn join(self, other: Kind) -> Kind {
        match (self, other) {
            (a, b) if a == b => a,
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.join(&b)),
            (Kind::Packet { offset: a, checked }, Kind::Packet { offset: b, checked: other })
                if a == b =>
            {
                Kind::Packet { offset: a, checked: checked.min(other) }
            }
            (
                Kind::Packet { .. } | Kind::SomewhereInPacket,
                Kind::Packet { .. } | Kind::SomewhereInPacket,
            ) => Kind::SomewhereInPacket,
            (
                Kind::MapValue { map: a, offset, entries: among, null },
                Kind::MapValue { map: b, offset: other, entries: more, null: also },
            ) if (a, offset) == (b, other) => {
                Kind::MapValue { map: a, offset, entries: among | more, null: null || also }
            }
            (Kind::MapValue { map, offset: 0, entries: among, .. }, Kind::Number(number))
            | (Kind::Number(number), Kind::MapValue { map, offset: 0, entries: among, .. })
                if number.as_constant() == Some(0) =>
            {
                Kind::MapValue { map, offset: 0, entries: among, null: true }
            }
            (
                Kind::Number(_)
                | Kind::GlobalData { .. }
                | Kind::MapValue { .. }
                | Kind::NumberOrOtherAddress,
                Kind::Number(_)
                | Kind::GlobalData { .. }
                | Kind::MapValue { .. }
                | Kind::NumberOrOtherAddress,
            ) => Kind::NumberOrOtherAddress,
            _ => Kind::Any,
        }
    }

    /// Returns a kind that covers both kinds, so that a sequence of joins terminates.
    pub fn widen(self, next: Kind) -> Kind {
        match (self, next) {
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.widen(&b, &[])),
            (a, b) => a.join(b),
        }
    }
}
