//! Identifies the origins of pointers into the packet: the addresses from which their offsets are
//! counted. The distance between two pointers with the same origin is known (`id` of packet
//! pointers in the kernel's verifier).

use crate::lift::frame::FrameId;

/// Location of a value in the abstract state, at a program point where two paths merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lift) enum ValueLocation {
    /// A register, `r0` to `r10`.
    Register(usize),
    /// A register of a caller's frame, by call depth and register number minus 6.
    Saved(usize, usize),
    /// A register that was spilled to the stack, by call depth and offset from the frame pointer.
    Spilled(u8, i64),
    /// An argument of a call that becomes several basic blocks, by the call's instruction slot and
    /// the register number.
    Argument(usize, usize),
}

/// The address from which the offset of a pointer into the packet is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lift) enum Origin {
    /// The packet's first byte (field `data` of the context).
    First,
    /// The result of an addition, given by stack frame and instruction slot.
    Sum(FrameId, usize),
    /// The join of several pointers at a point where paths merge. The first field is this point,
    /// given by frame and slot; the second one is the location of the value there.
    Joined((FrameId, usize), ValueLocation),
}
