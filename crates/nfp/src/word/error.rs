//! Why an instruction has no word, or a word no instruction.

use thiserror::Error;

use crate::{Operand, Shift};

/// An instruction without a word, or a word without an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// Two sources that come over the same way.
    #[error("`{first}` and `{second}` cannot be sources of one instruction: both are {what}")]
    Together {
        /// The first source.
        first: Operand,
        /// The second source.
        second: Operand,
        /// What both are.
        what: &'static str,
    },
    /// An operand in a place where it cannot stand.
    #[error("`{operand}` cannot be {place}")]
    Misplaced {
        /// The operand.
        operand: Operand,
        /// The place.
        place: &'static str,
    },
    /// A constant that is too large for its place.
    #[error("the constant {value:#x} is larger than {max:#x} (larger ones come by `immed`)")]
    Constant {
        /// The constant.
        value: u32,
        /// The largest that fits.
        max: u32,
    },
    /// A number that does not fit.
    #[error("{what} {value} is not {min} to {max}")]
    OutOfRange {
        /// What it numbers.
        what: &'static str,
        /// The number.
        value: u32,
        /// The smallest that fits.
        min: u32,
        /// The largest that fits.
        max: u32,
    },
    /// A shift that has no encoding here.
    #[error("the shift `{shift}` has no encoding here ({hint})")]
    Shift {
        /// The shift.
        shift: Shift,
        /// What to write instead.
        hint: &'static str,
    },
    /// A shift where one must be given.
    #[error("no shift is given (for no shift write `>>rot0`)")]
    NoShift,
    /// `gpr_wrboth` for a result that goes to no register bank.
    #[error("gpr_wrboth: `{operand}` is not in a register bank")]
    Both {
        /// The destination.
        operand: Operand,
    },
    /// A constant of `immed` that is neither 16 bits nor the complement of 16 bits.
    #[error("the constant {value:#x} is neither 16 bits nor the complement of 16 bits")]
    Immed {
        /// The constant.
        value: u32,
    },
    /// An instruction whose word means another one.
    #[error("its word is that of `{other}`")]
    ReadsAs {
        /// The other instruction.
        other: &'static str,
    },
    /// An operator that an instruction does not have.
    #[error("`{instruction}` has no operator {operator}")]
    Operator {
        /// The instruction.
        instruction: &'static str,
        /// The operator.
        operator: &'static str,
    },
    /// A control register that the compiler does not use.
    #[error("the control register at {csr:#x} is not supported")]
    ControlRegister {
        /// Its byte address.
        csr: u16,
    },
    /// A word that no encoder makes.
    #[error("{word:#013x} is no instruction that the compiler emits")]
    Unknown {
        /// The word.
        word: u64,
    },
}

/// Checks that a number is in its range.
pub(super) fn in_range(
    what: &'static str,
    value: impl Into<u32>,
    min: u32,
    max: u32,
) -> Result<u64, WordError> {
    let value = value.into();
    match (min..=max).contains(&value) {
        true => Ok(value.into()),
        false => Err(WordError::OutOfRange { what, value, min, max }),
    }
}
