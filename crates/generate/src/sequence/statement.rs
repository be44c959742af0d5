//! Sequences of calls, before their translation to instructions.
//!
//! A step names its map or pointer by a [`Pick`] among the suitable ones, as statements do. It is
//! left out if no map or pointer is suitable.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Condition, Size};

use crate::statement::Pick;

/// A sequence of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Maps that the calls use.
    pub maps: Vec<Shape>,
    /// Calls, and reads and writes between them.
    pub steps: Vec<GuardedAction>,
    /// Branches on the results.
    pub tests: Vec<Test>,
}

/// A map.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Type of the map.
    pub kind: MapKind,
    /// Type of the inner maps, for a map of maps.
    pub inner: MapKind,
    /// True if keys have 8 bytes, for map types that allow 4 or 8.
    pub wide: bool,
    /// Number of 8-byte words in a value, 1 or 2.
    pub words: u8,
    /// Capacity in elements.
    pub entries: u8,
    /// True if elements are allocated on insertion (`BPF_F_NO_PREALLOC`).
    pub allocates: bool,
}

/// A number for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A constant, the same for all packets.
    Constant(i32),
    /// A number computed from a byte of the packet: `±((byte & mask) << shift) - less`.
    Byte { at: u8, mask: u8, shift: u8, less: i32, negative: bool },
}

/// The value of an update.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A value with this number in its first word.
    Number(Number),
    /// The data at a pointer from a look-up.
    Pointer(Pick),
}

/// A call, or an access between calls.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A look-up whose result is kept as a pointer.
    Lookup { map: Pick, key: Number, pointer_slot: u8 },
    /// An update.
    Update { map: Pick, key: Number, value: Value, flags: Number },
    /// A deletion.
    Delete { map: Pick, key: Number },
    /// A call with the inner map at a key, if it exists.
    Inner { map: Pick, key: Number, call: InnerCall },
    /// An insertion into a queue or stack.
    Push { map: Pick, value: Number, flags: Number },
    /// A removal from a queue or stack, or a call of `bpf_map_peek_elem` if `stays` is set.
    Pop { map: Pick, stays: bool },
    /// A read through a pointer.
    Read { pointer: Pick, size: Size, at: u8 },
    /// A write through a pointer.
    Write { pointer: Pick, size: Size, at: u8, value: Number },
    /// A move of an end of the packet.
    Adjust { end: End, by: Number },
    /// A read from the packet, or from the metadata before it.
    Peek { metadata: bool, at: Number, size: Size },
    /// A write to the packet or metadata.
    Poke { metadata: bool, at: Number, size: Size, value: Number },
    /// A call of `bpf_xdp_load_bytes` or `bpf_xdp_store_bytes`.
    Bytes { store: bool, offset: Number, length: u8 },
    /// A call of `bpf_csum_diff`, with sizes in bytes.
    Checksum { from: Number, to: Number, seed: Number },
    /// A call of `bpf_redirect`.
    Redirect { device: Number, flags: Number },
    /// A call of `bpf_redirect_map`.
    RedirectMap { map: Pick, key: Number, flags: Number },
    /// A call of `bpf_xdp_get_buff_len`.
    Length,
}

/// A call with an inner map.
#[derive(Clone, Copy, Debug)]
pub enum InnerCall {
    /// A look-up whose result is kept as a pointer.
    Lookup { key: Number, pointer_slot: u8 },
    /// An update.
    Update { key: Number, value: Number, flags: Number },
    /// A deletion.
    Delete { key: Number },
}

/// An end of the packet or its metadata, which determines the helper that moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The start, which `bpf_xdp_adjust_head` moves.
    Head,
    /// The end, which `bpf_xdp_adjust_tail` moves.
    Tail,
    /// The start of the metadata, which `bpf_xdp_adjust_meta` moves.
    Meta,
}

/// An action, optionally only for packets with some of certain bits set in a byte.
#[derive(Clone, Copy, Debug)]
pub struct GuardedAction {
    /// Index of the argument byte, and mask of the bits.
    pub guard: Option<(u8, u8)>,
    /// Action.
    pub action: Action,
}

/// A branch on a result, whose path is longer if the condition does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Result to test.
    pub result: Pick,
    /// Condition.
    pub condition: Condition,
    /// Right operand.
    pub constant: i32,
    /// Number of additional instructions if the condition does not hold.
    pub weight: u8,
}
