//! Micro-operations: what instructions consist of. Each writes one register at most, and none of
//! them jumps.

use crate::{DrawId, InputId, InsnIdx, Reg, RelianceId};

/// A source of an operation: a register or a constant of a stated width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The value of a register.
    Reg(Reg),
    /// A constant; bits above `width` are zero.
    Const {
        /// The value.
        value: u64,
        /// Its width in bits, 1 to 64.
        width: u8,
    },
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Operand::Reg(reg)
    }
}

impl Operand {
    /// A constant of `width` bits; bits of `value` above it are dropped.
    pub fn constant(width: u8, value: u64) -> Self {
        Operand::Const { value: value & mask(width), width }
    }
}

/// The mask of the low `width` bits.
pub(crate) fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// A binary operator (SMT-LIB `QF_BV` semantics).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum modulo 2^width.
    Add,
    /// Difference modulo 2^width.
    Sub,
    /// Product modulo 2^width.
    Mul,
    /// Unsigned quotient; all ones when the divisor is zero.
    Udiv,
    /// Unsigned remainder; the dividend when the divisor is zero.
    Urem,
    /// Signed quotient rounded towards zero.
    Sdiv,
    /// Signed remainder with the dividend's sign.
    Srem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift.
    Shl,
    /// Logical right shift.
    Lshr,
    /// Arithmetic right shift.
    Ashr,
    /// 1 bit: equal.
    Eq,
    /// 1 bit: unsigned less than.
    Ult,
    /// 1 bit: signed less than.
    Slt,
    /// First operand above the second; widths add up.
    Concat,
    /// A number for two values: 64 bits each give 32 bits. Within one run, numbers are equal exactly
    /// for equal pairs; which number a pair has is unknown. Turns the key of a hash map into an
    /// index; a key of more words is a chain, `intern(zext(intern(w0, w1)), w2)`.
    Intern,
}

/// A micro-operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `dst = src`.
    Copy {
        /// Destination.
        dst: Reg,
        /// Source of the same width.
        src: Operand,
    },
    /// `dst = a op b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Destination.
        dst: Reg,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// `dst = ~src`.
    Not {
        /// Destination.
        dst: Reg,
        /// Source of the same width.
        src: Operand,
    },
    /// `dst = src[lo + width(dst) - 1 : lo]`.
    Extract {
        /// Destination.
        dst: Reg,
        /// Source.
        src: Operand,
        /// Lowest bit taken.
        lo: u8,
    },
    /// Zero extension to the width of `dst`.
    ZeroExtend {
        /// Destination.
        dst: Reg,
        /// Source, at most as wide.
        src: Operand,
    },
    /// Sign extension to the width of `dst`.
    SignExtend {
        /// Destination.
        dst: Reg,
        /// Source, at most as wide.
        src: Operand,
    },
    /// `dst = if cond { then } else { other }`.
    Select {
        /// Destination.
        dst: Reg,
        /// 1 bit.
        cond: Operand,
        /// Value when the bit is set.
        then: Operand,
        /// Value when it is not.
        other: Operand,
    },
    /// `dst` = an unknown of the environment.
    Input {
        /// Destination.
        dst: Reg,
        /// Which unknown.
        input: InputId,
    },
    /// `dst` = any value from `min` to `max` (unsigned, both included), anew each time that this is
    /// executed: the result of reading a clock, of drawing a random number. An [`Op::Input`] is
    /// constant during a run, this is not.
    Unknown {
        /// Destination.
        dst: Reg,
        /// The least value; fits the width of `dst`.
        min: u64,
        /// The greatest value; fits the width of `dst`.
        max: u64,
        /// What it is called in reports, which is all that it is for.
        draw: DrawId,
    },
    /// `dst` = `width(dst) / 8` bytes at `addr`, little-endian.
    Load {
        /// Destination.
        dst: Reg,
        /// A pointer.
        addr: Operand,
    },
    /// The bytes at `addr` become `value`, little-endian.
    Store {
        /// A pointer.
        addr: Operand,
        /// The value; its width is a multiple of 8.
        value: Operand,
    },
    /// The `bytes` bytes from `addr` on become zero, however many these are.
    Clear {
        /// A pointer.
        addr: Operand,
        /// How many; as wide as the pointer.
        bytes: Operand,
    },
    /// Where the bit is set, the device may do something else from here on: what the run does is
    /// possible only if something holds that the program does not follow. Changes nothing.
    Rely {
        /// 1 bit.
        cond: Operand,
        /// What that is.
        on: RelianceId,
    },
}

impl Op {
    /// The register this operation defines, if any.
    pub fn dst(&self) -> Option<Reg> {
        match *self {
            Op::Copy { dst, .. }
            | Op::Binary { dst, .. }
            | Op::Not { dst, .. }
            | Op::Extract { dst, .. }
            | Op::ZeroExtend { dst, .. }
            | Op::SignExtend { dst, .. }
            | Op::Select { dst, .. }
            | Op::Input { dst, .. }
            | Op::Unknown { dst, .. }
            | Op::Load { dst, .. } => Some(dst),
            Op::Store { .. } | Op::Clear { .. } | Op::Rely { .. } => None,
        }
    }

    /// The operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = Operand> {
        let list = match *self {
            Op::Copy { src, .. }
            | Op::Not { src, .. }
            | Op::Extract { src, .. }
            | Op::ZeroExtend { src, .. }
            | Op::SignExtend { src, .. } => [Some(src), None, None],
            Op::Binary { a, b, .. } => [Some(a), Some(b), None],
            Op::Select { cond, then, other, .. } => [Some(cond), Some(then), Some(other)],
            Op::Input { .. } | Op::Unknown { .. } => [None, None, None],
            Op::Load { addr, .. } => [Some(addr), None, None],
            Op::Store { addr, value } => [Some(addr), Some(value), None],
            Op::Clear { addr, bytes } => [Some(addr), Some(bytes), None],
            Op::Rely { cond, .. } => [Some(cond), None, None],
        };
        list.into_iter().flatten()
    }
}

/// A micro-operation and the instruction it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginOp {
    /// The operation.
    pub op: Op,
    /// The instruction that it is part of.
    pub insn: InsnIdx,
}
