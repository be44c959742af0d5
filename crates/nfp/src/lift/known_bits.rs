//! Tracks which bits of values are known constants, inside one block.
//!
//! The analysis covers only the operations that lengths of `indirect_ref` need: constants, merged
//! fields, shifts and bitwise operators, and sums whose low bits are all known.

use slowpath_ir::{BinaryOp, Op, Operand as Value};

/// Returns the mask of the low `width` bits.
pub(super) fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// The bits of a value that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownBits {
    /// Mask of the known bits.
    pub mask: u64,
    /// The values of the known bits. All other bits are zero.
    pub value: u64,
}

impl KnownBits {
    pub fn constant(value: u64, width: u8) -> Self {
        KnownBits { mask: mask(width), value: value & mask(width) }
    }

    /// Returns the value of `count` bits, starting at bit `lo`. Returns `None` if some of them are
    /// not known.
    pub fn field(self, lo: u8, count: u8) -> Option<u64> {
        let field = mask(count) << lo;
        (self.mask & field == field).then_some((self.value & field) >> lo)
    }

    fn shift_left(self, bits: u8) -> Self {
        KnownBits { mask: self.mask << bits | mask(bits), value: self.value << bits }
    }

    fn cut(self, width: u8) -> Self {
        KnownBits { mask: self.mask & mask(width), value: self.value & mask(width) }
    }
}

/// Returns the known bits of the result of `op`, which is `width` bits wide. `of` returns the known
/// bits and the width of an operand.
pub(super) fn result(op: &Op, width: u8, of: impl Fn(Value) -> (KnownBits, u8)) -> KnownBits {
    let known = match *op {
        Op::Copy { src, .. } => of(src).0,
        Op::Not { src, .. } => {
            let source = of(src).0;
            KnownBits { mask: source.mask, value: !source.value & source.mask }
        }
        Op::Extract { src, lo, .. } => {
            let source = of(src).0;
            KnownBits { mask: source.mask >> lo, value: source.value >> lo }
        }
        Op::ZeroExtend { src, .. } => {
            let (source, from) = of(src);
            KnownBits { mask: source.mask | !mask(from), value: source.value }
        }
        Op::Binary { op, a, b, .. } => binary(op, width, of(a).0, of(b)),
        _ => KnownBits::default(),
    };
    known.cut(width)
}

fn binary(op: BinaryOp, width: u8, a: KnownBits, (b, b_width): (KnownBits, u8)) -> KnownBits {
    match op {
        BinaryOp::Concat if b_width < 64 => {
            let high = KnownBits { mask: a.mask << b_width, value: a.value << b_width };
            KnownBits { mask: high.mask | b.mask, value: high.value | b.value }
        }
        BinaryOp::And => {
            let zeros = (a.mask & !a.value) | (b.mask & !b.value);
            KnownBits { mask: (a.mask & b.mask) | zeros, value: a.value & b.value }
        }
        BinaryOp::Or => {
            let ones = a.value | b.value;
            KnownBits { mask: (a.mask & b.mask) | ones, value: ones }
        }
        BinaryOp::Xor => {
            let both_banks = a.mask & b.mask;
            KnownBits { mask: both_banks, value: (a.value ^ b.value) & both_banks }
        }
        BinaryOp::Add => low_bits(a, b, u64::wrapping_add),
        BinaryOp::Sub => low_bits(a, b, u64::wrapping_sub),
        BinaryOp::Shl if b.mask == mask(b_width) && b.value < 32 => a.shift_left(b.value as u8),
        BinaryOp::Lshr if b.mask == mask(b_width) && b.value < 32 => {
            let vacated = mask(width) & !(mask(width) >> b.value);
            KnownBits { mask: a.mask >> b.value | vacated, value: a.value >> b.value }
        }
        _ => KnownBits::default(),
    }
}

/// Returns the low bits of a sum or difference that are known. These are the bits below the lowest
/// bit that is unknown in an operand.
fn low_bits(a: KnownBits, b: KnownBits, combine: impl Fn(u64, u64) -> u64) -> KnownBits {
    let count = (a.mask & b.mask).trailing_ones() as u8;
    KnownBits { mask: mask(count), value: combine(a.value, b.value) & mask(count) }
}

#[cfg(test)]
mod tests;
