//! Defines sets of bytes in stack frames.

use std::collections::BTreeMap;

use crate::lift::frame::{STACK_BYTES, UnitId};

/// A set of bytes in a stack frame: one bit for each byte, lowest address first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::lift) struct FrameBytes([u64; STACK_BYTES as usize / 64]);

impl FrameBytes {
    /// Returns the set of `bytes` bytes that start at an offset from the frame pointer. Ignores
    /// bytes outside the frame.
    pub fn at(offset: i64, bytes: u64) -> Self {
        let start = offset.saturating_add(STACK_BYTES as i64);
        let end = start.saturating_add_unsigned(bytes);
        let mut bytes_at = FrameBytes::default();
        for byte in start.max(0)..end.min(STACK_BYTES as i64) {
            bytes_at.0[byte as usize / 64] |= 1 << (byte % 64);
        }
        bytes_at
    }

    fn combined(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        FrameBytes(std::array::from_fn(|n| combine(self.0[n], other.0[n])))
    }

    pub fn and(self, other: Self) -> Self {
        self.combined(other, |a, b| a & b)
    }

    pub fn or(self, other: Self) -> Self {
        self.combined(other, |a, b| a | b)
    }

    pub fn without(self, other: Self) -> Self {
        self.combined(other, |a, b| a & !b)
    }

    /// Returns the offsets, from the start of the frame, of all 8-byte words that contain a byte of
    /// the set.
    pub fn words(self) -> impl Iterator<Item = u64> {
        let any = move |&at: &u64| self.0[at as usize / 64] >> (at % 64) & 0xff != 0;
        (0..STACK_BYTES).step_by(8).filter(any)
    }
}

/// Bytes that functions may read from their stack frames without writing them first (uninitialised
/// reads). The key is the linked program (unit) and the first instruction slot of the function.
pub(in crate::lift) type UninitReads = BTreeMap<(UnitId, usize), FrameBytes>;

pub fn all() -> FrameBytes {
    FrameBytes([u64::MAX; STACK_BYTES as usize / 64])
}
