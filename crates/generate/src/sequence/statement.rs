//! Steps: what a sequence of calls is before it becomes instructions.
//!
//! As for other programs, which map or pointer a step means is a [`Pick`] among those that fit, and
//! a step that nothing fits stands for nothing.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Condition, Size};

use crate::statement::Pick;

/// A sequence of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The maps that it calls with.
    pub maps: Vec<Shape>,
    /// The calls, and reads and writes between them.
    pub steps: Vec<GuardedAction>,
    /// What depends on the results.
    pub tests: Vec<Test>,
}

/// A map.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its type; for a map of maps, that of the maps in it is `inner`.
    pub kind: MapKind,
    /// Type of inner maps.
    pub inner: MapKind,
    /// Whether keys have 8 bytes where they may have 4.
    pub wide: bool,
    /// Words of 8 bytes in a value, 1 or 2.
    pub words: u8,
    /// How many elements it can hold.
    pub entries: u8,
    /// Whether elements are allocated when they are inserted (`BPF_F_NO_PREALLOC`).
    pub allocates: bool,
}

/// A number: what an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// The same for all packets.
    Constant(i32),
    /// From a byte of the packet: `±((byte & mask) << shift) - less`.
    Byte { at: u8, mask: u8, shift: u8, less: i32, negative: bool },
}

/// The value of an update.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// The first word is this.
    Number(Number),
    /// What a pointer from a look-up leads to.
    Pointer(Pick),
}

/// What is called, or done between calls.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A look-up whose pointer is kept.
    Lookup { map: Pick, key: Number, keep: u8 },
    /// An update.
    Update { map: Pick, key: Number, value: Value, flags: Number },
    /// A deletion.
    Delete { map: Pick, key: Number },
    /// A call with an inner map, if there is one at the key.
    Inner { map: Pick, key: Number, call: InnerCall },
    /// A value goes into a queue or stack.
    Push { map: Pick, value: Number, flags: Number },
    /// A value comes out of a queue or stack, or is looked at.
    Pop { map: Pick, stays: bool },
    /// A read through a pointer.
    Read { pointer: Pick, size: Size, at: u8 },
    /// A write through a pointer.
    Write { pointer: Pick, size: Size, at: u8, value: Number },
    /// An end of the packet moves.
    Adjust { end: End, by: Number },
    /// A read from the packet, or from the metadata in front of it.
    Peek { metadata: bool, at: Number, size: Size },
    /// A write to the packet or metadata.
    Poke { metadata: bool, at: Number, size: Size, value: Number },
    /// `bpf_xdp_load_bytes` or `bpf_xdp_store_bytes`.
    Bytes { store: bool, offset: Number, length: u8 },
    /// `bpf_csum_diff`, the sizes in bytes.
    Checksum { from: Number, to: Number, seed: Number },
    /// `bpf_redirect`.
    Redirect { device: Number, flags: Number },
    /// `bpf_redirect_map`.
    RedirectMap { map: Pick, key: Number, flags: Number },
    /// `bpf_xdp_get_buff_len`.
    Length,
}

/// What is done with an inner map.
#[derive(Clone, Copy, Debug)]
pub enum InnerCall {
    /// A look-up whose pointer is kept.
    Lookup { key: Number, keep: u8 },
    /// An update.
    Update { key: Number, value: Number, flags: Number },
    /// A deletion.
    Delete { key: Number },
}

/// An end of the packet or its metadata, and with it the helper that moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `bpf_xdp_adjust_head`.
    Head,
    /// `bpf_xdp_adjust_tail`.
    Tail,
    /// `bpf_xdp_adjust_meta`.
    Meta,
}

/// An action, done only for packets where bits of a byte are set, if `guard` says so.
#[derive(Clone, Copy, Debug)]
pub struct GuardedAction {
    /// Which byte and which bits.
    pub guard: Option<(u8, u8)>,
    /// What is done.
    pub action: Action,
}

/// A branch on a result: the path is longer where the condition does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Which result.
    pub result: Pick,
    /// The condition.
    pub condition: Condition,
    /// Right operand.
    pub constant: i32,
    /// So many more instructions.
    pub weight: u8,
}
