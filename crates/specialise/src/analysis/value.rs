//! What a register or a piece of memory can hold.

use super::numbers::Number;
use super::reason::Reason;
use slowpath_domain::Domain;

/// What is known of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A number.
    Number(Domain),
    /// The address of a byte of the packet.
    Packet {
        /// From the packet's first byte.
        offset: i64,
        /// How many bytes from the packet's first one on the kernel's verifier takes for there, when
        /// it sees an access through this pointer (`bpf_reg_state::range`).
        checked: i64,
    },
    /// The address of some byte of the packet.
    SomewhereInPacket,
    /// The address behind the packet's last byte.
    PacketEnd,
    /// An address in the stack frame, from the frame pointer.
    Stack(i64),
    /// The context.
    Context,
    /// An address in the value of a map of one element.
    Data {
        /// The number of the map.
        map: u32,
        /// From the value's first byte.
        offset: i64,
    },
    /// What a look-up in a map found, moved.
    Found {
        /// The number of the map.
        map: u32,
        /// From the value's first byte.
        offset: i64,
        /// The entries that it can be, of maps whose content is known.
        among: u64,
        /// Whether it may be null instead.
        null: bool,
    },
    /// A number, or an address of what is neither packet nor stack.
    Elsewhere,
    /// Anything: a number, an address.
    Any,
}

/// A value: what is known of it, and what tells it from others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub kind: Kind,
    /// Values of the same number are equal.
    pub number: Number,
    /// The facts that what is known of it rests on.
    pub reason: Reason,
    /// The register that it was copied from, for as long as that holds the same.
    pub copy_of: Option<u8>,
}

impl Value {
    /// A value that rests on no facts.
    pub fn new(kind: Kind, number: Number) -> Value {
        Value { kind, number, reason: Reason::NONE, copy_of: None }
    }

    /// The number, if it is one that is known.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            Kind::Number(domain) => domain.as_constant(),
            _ => None,
        }
    }

    /// The numbers that it can be, of 64 bits.
    pub fn domain(&self) -> Domain {
        match self.kind {
            Kind::Number(domain) => domain,
            _ => Domain::full(64),
        }
    }
}

impl Kind {
    /// What holds of either.
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
                Kind::Found { map: a, offset, among, null },
                Kind::Found { map: b, offset: other, among: more, null: also },
            ) if (a, offset) == (b, other) => {
                Kind::Found { map: a, offset, among: among | more, null: null || also }
            }
            (Kind::Found { map, offset: 0, among, .. }, Kind::Number(number))
            | (Kind::Number(number), Kind::Found { map, offset: 0, among, .. })
                if number.as_constant() == Some(0) =>
            {
                Kind::Found { map, offset: 0, among, null: true }
            }
            (
                Kind::Number(_) | Kind::Data { .. } | Kind::Found { .. } | Kind::Elsewhere,
                Kind::Number(_) | Kind::Data { .. } | Kind::Found { .. } | Kind::Elsewhere,
            ) => Kind::Elsewhere,
            _ => Kind::Any,
        }
    }

    /// As [`join`](Self::join), so that a sequence of it ends.
    pub fn widen(self, next: Kind) -> Kind {
        match (self, next) {
            (Kind::Number(a), Kind::Number(b)) => Kind::Number(a.widen(&b, &[])),
            (a, b) => a.join(b),
        }
    }
}
