//! The abstract values of registers and memory.

use super::fact_set::FactSet;
use super::numbers::Number;
use slowpath_domain::Domain;

/// The kind of a 64-bit value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A number from this domain.
    Number(Domain),
    /// The address of a packet byte.
    Packet {
        /// Offset from the packet's first byte.
        offset: i64,
        /// Number of bytes at the start of the packet for which bounds checks on this pointer have
        /// succeeded (`bpf_reg_state::range` of the kernel's verifier).
        checked: i64,
    },
    /// The address of a byte of the packet, at an unknown offset.
    SomewhereInPacket,
    /// The address after the packet's last byte.
    PacketEnd,
    /// An address in the stack frame, relative to the frame pointer.
    Stack(i64),
    /// The context of the program.
    Context,
    /// An address in the value of a map with one element.
    GlobalData {
        /// Number of the map.
        map: u32,
        /// Offset from the value's first byte.
        offset: i64,
    },
    /// The address of a map value that a look-up returned, plus an offset.
    MapValue {
        /// Number of the map.
        map: u32,
        /// Offset from the value's first byte.
        offset: i64,
        /// The entries that the look-up may have found, as a bit mask, for maps with known content.
        entries: u64,
        /// True if the value may also be null.
        null: bool,
    },
    /// A number, or an address that is neither in the packet nor in the stack frame.
    NumberOrOtherAddress,
    /// Any number or address.
    Any,
}

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub kind: Kind,
    /// Number that identifies the value. Values with the same number are equal.
    pub number: Number,
    /// The facts on which `kind` depends.
    pub reason: FactSet,
    /// The register from which the value was copied. `None` if this register has changed since.
    pub copy_of: Option<u8>,
}

impl Value {
    /// Creates a value that depends on no facts.
    pub fn new(kind: Kind, number: Number) -> Value {
        Value { kind, number, reason: FactSet::NONE, copy_of: None }
    }

    /// Returns the value if it is a constant number.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            Kind::Number(domain) => domain.as_constant(),
            _ => None,
        }
    }

    /// Returns the numbers that the value can be, as a 64-bit domain.
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

    /// Returns a kind that covers both kinds. Ranges that grow are extended to their limits, so
    /// that the analysis of loops ends.
    pub fn widen(self, next: Kind) -> Kind {
        match (self, next) {
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.widen(&b, &[])),
            (a, b) => a.join(b),
        }
    }
}
