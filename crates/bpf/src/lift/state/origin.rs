//! Where pointers into the packet come from: two with the same origin differ by a known distance
//! (the `id` of packet pointers in the kernel's verifier).

use crate::lift::frame::FrameId;

/// What holds a value where two paths meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lift) enum Holder {
    /// A register, `r0` to `r10`.
    Register(usize),
    /// A register of a frame around, by that frame's depth and the register's number less 6.
    Saved(usize, usize),
    /// A stack slot, by its frame's depth and offset.
    Spilled(u8, i64),
    /// An argument of a call that takes several blocks, by slot and number.
    Argument(usize, usize),
}

/// A pointer into the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::lift) enum Origin {
    /// The packet's first byte as the context has it.
    First,
    /// The sum made at this slot of this frame.
    Sum(FrameId, usize),
    /// One of several, where paths meet at this slot of this frame.
    Joined((FrameId, usize), Holder),
}
