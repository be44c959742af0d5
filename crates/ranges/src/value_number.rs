//! Implements value numbering. Registers and memory cells that certainly have the same value share
//! one value number. The table of values contains the definition of each value in terms of other
//! values. The method is from Alpern, Wegman and Zadeck, "Detecting equality of variables in
//! programs", POPL 1988. Here, it works forwards, and numbers the values of each state separately.
//!
//! The operands of a definition have smaller numbers than the defined value, so one pass down or up
//! the table reaches all operands or all users.

use slowpath_ir::BinaryOp;

use crate::value::Value;

/// Index of a value in the table of its state.
pub(crate) type ValueNumber = u32;

/// Operand of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// Another value, given by its value number, which is smaller than that of the defined value.
    Number(ValueNumber),
    /// A constant and its width in bits.
    Const(u64, u8),
}

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Def {
    /// The value was not computed by a known operation.
    Unknown,
    /// Result of a binary operation: `a op b`.
    Binary(BinaryOp, Arg, Arg),
    /// Bitwise complement of the operand: `~a`.
    Not(Arg),
    /// Bits of the operand, starting at the bit with this index. The width of the result determines
    /// the number of bits.
    Extract(Arg, u8),
    /// Zero extension of the operand.
    ZeroExtend(Arg),
    /// Sign extension of the operand.
    SignExtend(Arg),
    /// The second operand if the first one is 1, otherwise the third.
    Select(Arg, Arg, Arg),
}

impl Def {
    pub fn args(&self) -> impl Iterator<Item = Arg> {
        let list = match *self {
            Def::Unknown => [None, None, None],
            Def::Not(a) | Def::Extract(a, _) | Def::ZeroExtend(a) | Def::SignExtend(a) => {
                [Some(a), None, None]
            }
            Def::Binary(_, a, b) => [Some(a), Some(b), None],
            Def::Select(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }

    /// Returns the definition with each operand replaced by the result of `of`. Returns `None` if
    /// `of` returns `None` for an operand.
    pub fn map(&self, mut of: impl FnMut(Arg) -> Option<Arg>) -> Option<Def> {
        Some(match *self {
            Def::Unknown => Def::Unknown,
            Def::Not(a) => Def::Not(of(a)?),
            Def::Extract(a, lo) => Def::Extract(of(a)?, lo),
            Def::ZeroExtend(a) => Def::ZeroExtend(of(a)?),
            Def::SignExtend(a) => Def::SignExtend(of(a)?),
            Def::Binary(op, a, b) => Def::Binary(op, of(a)?, of(b)?),
            Def::Select(c, a, b) => Def::Select(of(c)?, of(a)?, of(b)?),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedValue {
    pub value: Value,
    pub def: Def,
}
