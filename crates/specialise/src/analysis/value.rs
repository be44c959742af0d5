//! Defines the abstract values of registers and memory during the analysis of a program.

use super::fact_set::FactSet;
use super::numbers::Number;
use slowpath_domain::Domain;

/// The set of 64-bit values that a register or stack slot can hold, according to the analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A number from this domain.
    Number(Domain),
    /// The address of a packet byte.
    Packet {
        /// Offset in bytes from the packet's first byte.
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
    /// The pointer to the context of the program (`struct xdp_md`).
    Context,
    /// An address in the value of a map with one element, which contains global data such as
    /// `.rodata`.
    GlobalData {
        /// Index of the map in the object.
        map: u32,
        /// Offset in bytes from the first byte of the map value.
        offset: i64,
    },
    /// The address of a map value that a look-up returned, plus an offset.
    MapValue {
        /// Index of the map in the object.
        map: u32,
        /// Offset in bytes from the first byte of the map value.
        offset: i64,
        /// Bit mask of the map entries that the look-up may have found, for maps with known
        /// content.
        entries: u64,
        /// True if the address may also be null, because the look-up may have found no element.
        null: bool,
    },
    /// A number, or an address that is neither in the packet nor in the stack frame.
    NumberOrOtherAddress,
    /// Any number or address.
    Any,
}

/// An abstract value of a register or stack slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub kind: Kind,
    /// Number from value numbering (an analysis that finds equal values). Values with the same
    /// number are equal in every run.
    pub number: Number,
    /// Facts about packets and maps from which `kind` follows.
    pub reason: FactSet,
    /// The register from which the value was copied. `None` if it was not copied, or if that
    /// register has changed since.
    pub copy_of: Option<u8>,
}

impl Value {
    /// Creates an abstract value that depends on no facts about packets and maps.
    pub fn new(kind: Kind, number: Number) -> Value {
        Value { kind, number, reason: FactSet::NONE, copy_of: None }
    }

    /// Returns the number if the value is a constant, otherwise `None`.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            Kind::Number(domain) => domain.as_constant(),
            _ => None,
        }
    }

    /// Returns the set of numbers that the value can be, as a 64-bit domain. It contains all
    /// numbers if the value may be an address.
    pub fn domain(&self) -> Domain {
        match self.kind {
            Kind::Number(domain) => domain,
            _ => Domain::full(64),
        }
    }
}

impl Kind {
    /// Returns a kind that contains all values of both kinds, for merges of paths.
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

    /// Returns a kind that contains all values of both kinds. Ranges that grow are extended to
    /// their limits, so that the analysis of loops ends.
    pub fn widen(self, next: Kind) -> Kind {
        match (self, next) {
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.widen(&b, &[])),
            (a, b) => a.join(b),
        }
    }
}
