//! Defines ranges of numbers, and computes the range of the result of an arithmetic operation.

use slowpath_bpf::insn::{AluOp, Width};

/// The unsigned numbers from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub min: u64,
    pub max: u64,
}

/// Largest 32-bit number.
const LOW: u64 = u32::MAX as u64;

impl Range {
    pub const ANY: Range = Range { min: 0, max: u64::MAX };
    pub const WORD: Range = Range { min: 0, max: LOW };

    pub fn exactly(value: u64) -> Self {
        Range { min: value, max: value }
    }

    /// Returns the range of the unsigned numbers that fit in `bytes` bytes.
    pub fn of_bytes(bytes: u8) -> Self {
        Range { min: 0, max: if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 } }
    }

    /// Returns the only number of the range; `None` if the range contains several numbers.
    pub fn constant(self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }

    /// Returns true if all numbers of the range fit in 32 bits.
    pub fn is_word(self) -> bool {
        self.max <= LOW
    }

    pub fn join(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Intersects two ranges; returns `None` if they are disjoint.
    pub fn meet(self, other: Range) -> Option<Range> {
        let both = Range { min: self.min.max(other.min), max: self.max.min(other.max) };
        (both.min <= both.max).then_some(both)
    }
}

/// Returns a range that contains all results of `a op b`. Versions of the kernel's verifier derive
/// different ranges; this is the widest of them.
pub(crate) fn result(op: AluOp, width: Width, a: Range, b: Range) -> Range {
    match width {
        Width::W64 => result64(op, a, b),
        Width::W32 => result32(op, a, b),
    }
}

fn result64(op: AluOp, a: Range, b: Range) -> Range {
    let known = match op {
        AluOp::Mov => Some(b),
        AluOp::And => Some(Range { min: 0, max: a.max.min(b.max) }),
        AluOp::Or => Some(Range { min: a.min.max(b.min), max: ones(a.max | b.max) }),
        AluOp::Add => {
            let max = a.max.checked_add(b.max);
            // Versions of the verifier differ in sums beyond the signed range.
            max.filter(|max| *max <= i64::MAX as u64).map(|max| Range { min: a.min + b.min, max })
        }
        AluOp::Mul if a.is_word() && b.is_word() && small(a) && small(b) => {
            Some(Range { min: a.min * b.min, max: a.max * b.max })
        }
        AluOp::Lsh => b
            .constant()
            .filter(|by| *by < 64 && a.max <= (i64::MAX as u64) >> by)
            .map(|by| Range { min: a.min << by, max: a.max << by }),
        AluOp::Rsh => b
            .constant()
            .filter(|by| *by < 64)
            .map(|by| Range { min: a.min >> by, max: a.max >> by }),
        _ => None,
    };
    known.unwrap_or(Range::ANY)
}

fn result32(op: AluOp, a: Range, b: Range) -> Range {
    let low = |range: Range| if range.is_word() { range } else { Range::WORD };
    match op {
        AluOp::Mov => match b.constant() {
            Some(value) => Range::exactly(value & LOW),
            None => low(b),
        },
        AluOp::And => {
            let b = b.constant().map_or(low(b), |value| Range::exactly(value & LOW));
            Range { min: 0, max: low(a).max.min(b.max) }
        }
        // Recent versions of the verifier know nothing about these results, not even that the upper
        // half is zero.
        AluOp::Div => Range::ANY,
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh if b.constant().is_none() => Range::ANY,
        _ => Range::WORD,
    }
}

/// Returns true if all numbers of the range are so small that all versions of the verifier derive
/// the same bounds for their products.
fn small(range: Range) -> bool {
    range.max <= 0xffff
}

/// Returns `value` with all bits below its highest set bit set as well.
fn ones(value: u64) -> u64 {
    value.checked_next_power_of_two().map_or(u64::MAX, |power| (power - 1) | value)
}
