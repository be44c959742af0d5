//! Defines micro-operations, of which instructions consist. Each micro-operation writes at most one
//! register, and none of them jumps.

use crate::{DrawId, InputId, InsnIdx, Reg, RelianceId};

/// A source of an operation: a register, or a constant with its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The value of a register.
    Reg(Reg),
    /// A constant; bits above `width` are zero.
    Const {
        /// Value of the constant.
        value: u64,
        /// Width of the constant in bits, 1 to 64.
        width: u8,
    },
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Operand::Reg(reg)
    }
}

impl Operand {
    /// Returns a constant of `width` bits; drops the bits of `value` above the width.
    pub fn constant(width: u8, value: u64) -> Self {
        Operand::Const { value: value & mask(width), width }
    }
}

/// Returns the mask of the low `width` bits.
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
    /// Equality; the result has 1 bit.
    Eq,
    /// Unsigned less-than; the result has 1 bit.
    Ult,
    /// Signed less-than; the result has 1 bit.
    Slt,
    /// Concatenation, with the first operand as the upper bits; widths add up.
    Concat,
    /// A 32-bit number that identifies a pair of 64-bit values. In one run, two numbers are equal
    /// if and only if the pairs are equal; the number of a given pair is unknown. Front ends use
    /// the number of a hash map's key as the index of its element. For a key of more than two
    /// words, operations are chained: `intern(zext(intern(w0, w1)), w2)`.
    Intern,
}

/// A micro-operation: one action of an instruction on registers or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `dst = src`.
    Copy {
        /// Register for the result.
        dst: Reg,
        /// Source operand of the same width as `dst`.
        src: Operand,
    },
    /// `dst = a op b`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Register for the result.
        dst: Reg,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
    },
    /// `dst = ~src`.
    Not {
        /// Register for the result.
        dst: Reg,
        /// Source operand of the same width as `dst`.
        src: Operand,
    },
    /// `dst = src[lo + width(dst) - 1 : lo]`.
    Extract {
        /// Register for the result; its width is the number of bits to extract.
        dst: Reg,
        /// Operand to extract bits from.
        src: Operand,
        /// Lowest bit to extract.
        lo: u8,
    },
    /// Zero extension to the width of `dst`.
    ZeroExtend {
        /// Register for the result.
        dst: Reg,
        /// Operand to extend, at most as wide as `dst`.
        src: Operand,
    },
    /// Sign extension to the width of `dst`.
    SignExtend {
        /// Register for the result.
        dst: Reg,
        /// Operand to extend, at most as wide as `dst`.
        src: Operand,
    },
    /// `dst = if cond { then } else { other }`.
    Select {
        /// Register for the result.
        dst: Reg,
        /// Condition, 1 bit.
        cond: Operand,
        /// Value if the condition holds.
        then: Operand,
        /// Value if the condition does not hold.
        other: Operand,
    },
    /// `dst` = the value of an input, which is constant during a run.
    Input {
        /// Register for the value.
        dst: Reg,
        /// Input to read.
        input: InputId,
    },
    /// `dst` = any value from `min` to `max` (unsigned, both included), which may differ in each
    /// execution. Models reads of a clock and random numbers.
    Unknown {
        /// Register for the value.
        dst: Reg,
        /// Smallest value; fits the width of `dst`.
        min: u64,
        /// Largest value; fits the width of `dst`.
        max: u64,
        /// Number of a description of the value, used only in reports.
        draw: DrawId,
    },
    /// `dst` = `width(dst) / 8` bytes at `addr`, little-endian.
    Load {
        /// Register for the loaded value; its width is a multiple of 8.
        dst: Reg,
        /// Address of the first byte.
        addr: Operand,
    },
    /// The bytes at `addr` become `value`, little-endian.
    Store {
        /// Address of the first byte.
        addr: Operand,
        /// Value to store; its width is a multiple of 8.
        value: Operand,
    },
    /// Sets the `bytes` bytes at `addr` to zero; `bytes` is a run-time value.
    Clear {
        /// Address of the first byte.
        addr: Operand,
        /// Number of bytes; the operand is as wide as the address.
        bytes: Operand,
    },
    /// States that the run relies on an assumption if `cond` is 1. If the assumption is false, the
    /// device may behave differently. Does not change registers or memory.
    Rely {
        /// Condition, 1 bit.
        cond: Operand,
        /// Number of the assumption in [`Program::reliances`](crate::Program::reliances).
        on: RelianceId,
    },
}

impl Op {
    /// Returns the register that this operation writes; `None` if it writes none.
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

    /// Returns the operands in the order of their declaration.
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

/// A micro-operation, with the instruction of the original program that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginOp {
    /// The micro-operation itself.
    pub op: Op,
    /// The instruction that contains the micro-operation.
    pub insn: InsnIdx,
}
