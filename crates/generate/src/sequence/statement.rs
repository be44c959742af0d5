//! Defines sequences of helper calls before they are translated to instructions.
//!
//! A step identifies its map or pointer by a [`Pick`], a choice among all suitable maps or
//! pointers. The step is left out if none is suitable.

use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Condition, Size};

use crate::statement::Pick;

/// A sequence of helper calls, with its maps and with branches on the results.
#[derive(Clone, Debug)]
pub struct Calls {
    pub maps: Vec<Shape>,
    /// Calls, and memory accesses between calls, in the order of execution.
    pub steps: Vec<GuardedAction>,
    /// Branches that depend on the results of the steps.
    pub tests: Vec<Test>,
}

/// Type and sizes of a map that a sequence uses.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Type of the map.
    pub kind: MapKind,
    /// Type of the inner maps, if the map is a map of maps.
    pub inner: MapKind,
    /// True if keys have 8 bytes instead of 4, for map types that allow both.
    pub wide: bool,
    /// Number of 8-byte words in a value, 1 or 2.
    pub words: u8,
    /// Capacity in elements.
    pub entries: u8,
    /// True if elements are allocated on insertion (`BPF_F_NO_PREALLOC`).
    pub allocates: bool,
}

/// A number that a sequence passes as an argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A constant, the same for all packets.
    Constant(i32),
    /// A number computed from a byte of the packet: `±((byte & mask) << shift) - less`.
    Byte { at: u8, mask: u8, shift: u8, less: i32, negative: bool },
}

/// The value that a map update stores in the element.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A new value whose first word is this number.
    Number(Number),
    /// The map value at a pointer that an earlier look-up returned.
    Pointer(Pick),
}

/// A step of a sequence: a helper call, or a memory access between calls.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A map look-up. The program keeps the returned pointer on the stack in the slot
    /// `pointer_slot`.
    Lookup { map: Pick, key: Number, pointer_slot: u8 },
    /// An update of a map element.
    Update { map: Pick, key: Number, value: Value, flags: Number },
    /// A deletion of a map element.
    Delete { map: Pick, key: Number },
    /// A call on the inner map that a map of maps contains at a key, if the map of maps has such an
    /// element.
    Inner { map: Pick, key: Number, call: InnerCall },
    /// An insertion into a queue or stack.
    Push { map: Pick, value: Number, flags: Number },
    /// A removal from a queue or stack, or a call of `bpf_map_peek_elem` if `stays` is set.
    Pop { map: Pick, stays: bool },
    /// A read of a map value, `at` bytes from a pointer that an earlier look-up left on the stack.
    Read { pointer: Pick, size: Size, at: u8 },
    /// A write to a map value, `at` bytes from a pointer that an earlier look-up left on the stack.
    Write { pointer: Pick, size: Size, at: u8, value: Number },
    /// A move of the packet's start or end, or of the start of the metadata.
    Adjust { end: End, by: Number },
    /// A read from the packet, or from the metadata in front of the packet.
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

/// A helper call on an inner map of a map of maps.
#[derive(Clone, Copy, Debug)]
pub enum InnerCall {
    /// A look-up. The program keeps the returned pointer on the stack in the slot `pointer_slot`.
    Lookup { key: Number, pointer_slot: u8 },
    /// An update of an element of the inner map.
    Update { key: Number, value: Number, flags: Number },
    /// A deletion of an element of the inner map.
    Delete { key: Number },
}

/// The boundary of the packet or metadata that a call moves; it determines the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The start of the packet, which `bpf_xdp_adjust_head` moves.
    Head,
    /// The end of the packet, which `bpf_xdp_adjust_tail` moves.
    Tail,
    /// The start of the metadata, which `bpf_xdp_adjust_meta` moves.
    Meta,
}

/// A step of a sequence. With a guard, the program executes the step only if at least one of the
/// guard's bits is set in a byte of the packet.
#[derive(Clone, Copy, Debug)]
pub struct GuardedAction {
    /// Index of the argument byte in the packet that decides, and mask of the bits to test. `None`
    /// if the step is always executed.
    pub guard: Option<(u8, u8)>,
    pub action: Action,
}

/// A branch on the result of a step. If its condition does not hold, the program executes more
/// instructions.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Choice among the results of the steps before the branch.
    pub result: Pick,
    pub condition: Condition,
    /// Right operand of the comparison.
    pub constant: i32,
    /// Number of additional instructions that are executed if the condition does not hold.
    pub weight: u8,
}
