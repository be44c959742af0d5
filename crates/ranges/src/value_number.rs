//! Value numbering: registers and memory that surely hold the same value share its number, and the
//! value remembers how it was computed from others (after Alpern, Wegman and Zadeck, "Detecting
//! equality of variables in programs", POPL 1988, but forwards and per state).
//!
//! An operand has a smaller number than what is computed from it, so that one pass up or down the
//! table reaches everything.

use slowpath_ir::BinaryOp;

use crate::value::Value;

/// The number of a value in the table of its state.
pub(crate) type ValueNumber = u32;

/// An operand of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// A value with a smaller number.
    Number(ValueNumber),
    /// A constant of a width.
    Const(u64, u8),
}

/// How a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Def {
    /// Not remembered.
    Unknown,
    /// `a op b`.
    Binary(BinaryOp, Arg, Arg),
    /// `~a`.
    Not(Arg),
    /// Bits of `a` from this one on.
    Extract(Arg, u8),
    /// Zeros in front.
    ZeroExtend(Arg),
    /// Copies of the sign in front.
    SignExtend(Arg),
    /// The second when the first is set, else the third.
    Select(Arg, Arg, Arg),
}

impl Def {
    /// The operands.
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

    /// The same with other operands, where `of` knows some for all of them.
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

/// A value and how it was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedValue {
    pub value: Value,
    pub def: Def,
}
