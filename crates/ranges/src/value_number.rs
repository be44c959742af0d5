//! Implements value numbering. Registers and memory that certainly have the same value share its
//! number. The value keeps its definition in terms of other values. The method is from Alpern,
//! Wegman and Zadeck, "Detecting equality of variables in programs", POPL 1988, but runs forwards
//! and for each state.
//!
//! The operands of a definition have smaller numbers than the defined value, so one pass down or up
//! the table reaches all of them.

use slowpath_ir::BinaryOp;

use crate::value::Value;

/// Index of a value in the table of its state.
pub(crate) type ValueNumber = u32;

/// Operand of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    /// A value with a smaller number.
    Number(ValueNumber),
    /// A constant and its width in bits.
    Const(u64, u8),
}

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Def {
    /// No known definition.
    Unknown,
    /// `a op b`.
    Binary(BinaryOp, Arg, Arg),
    /// `~a`.
    Not(Arg),
    /// The bits of the operand from this bit upwards, as many as the result has.
    Extract(Arg, u8),
    /// Zero extension.
    ZeroExtend(Arg),
    /// Sign extension.
    SignExtend(Arg),
    /// The second operand if the first one is 1, otherwise the third.
    Select(Arg, Arg, Arg),
}

impl Def {
    /// Returns the operands.
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

/// A value with its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedValue {
    pub value: Value,
    pub def: Def,
}
