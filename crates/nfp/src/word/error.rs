//! Errors that occur when instruction words are encoded or decoded.

use thiserror::Error;

use crate::{Operand, Shift};

/// An instruction that no word can encode, or a word that does not decode to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// Two sources of the same kind, of which a word can have only one.
    #[error("`{first}` and `{second}` cannot be sources of one instruction: both are {kind}")]
    SourceConflict {
        /// The first source.
        first: Operand,
        /// The second source.
        second: Operand,
        /// Kind of both sources, in words.
        kind: &'static str,
    },
    /// An operand in a place that does not accept it.
    #[error("`{operand}` cannot be {place}")]
    Misplaced {
        /// The operand.
        operand: Operand,
        /// Description of the place.
        place: &'static str,
    },
    /// A constant that is too large for its place.
    #[error("the constant {value:#x} is larger than {max:#x} (larger ones come by `immed`)")]
    Constant {
        /// The constant.
        value: u32,
        /// Largest constant that fits.
        max: u32,
    },
    /// A number outside its range.
    #[error("{kind} {value} is not {min} to {max}")]
    OutOfRange {
        /// Kind of number.
        kind: &'static str,
        /// The number.
        value: u32,
        /// Smallest allowed number.
        min: u32,
        /// Largest allowed number.
        max: u32,
    },
    /// A shift that this instruction cannot encode.
    #[error("the shift `{shift}` has no encoding here ({hint})")]
    Shift {
        /// The shift.
        shift: Shift,
        /// Suggestion for an alternative.
        hint: &'static str,
    },
    /// A missing shift where the instruction needs one.
    #[error("no shift is given (for no shift write `>>rot0`)")]
    NoShift,
    /// `gpr_wrboth` for a result outside the register banks.
    #[error("gpr_wrboth: `{operand}` is not in a register bank")]
    BothBanks {
        /// Destination.
        operand: Operand,
    },
    /// A constant of `immed` that is neither 16 bits nor the complement of 16 bits.
    #[error("the constant {value:#x} is neither 16 bits nor the complement of 16 bits")]
    Immed {
        /// The constant.
        value: u32,
    },
    /// An instruction whose word decodes to a different instruction.
    #[error("its word is that of `{other}`")]
    DecodesAs {
        /// The instruction that the word decodes to.
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
        /// Byte address of the control register.
        csr: u16,
    },
    /// A word that the encoder does not produce.
    #[error("{word:#013x} is no instruction that the compiler emits")]
    Unknown {
        /// The word.
        word: u64,
    },
}

/// Checks that a number is in its range, and widens it.
pub(super) fn in_range(
    kind: &'static str,
    value: impl Into<u32>,
    min: u32,
    max: u32,
) -> Result<u64, WordError> {
    let value = value.into();
    match (min..=max).contains(&value) {
        true => Ok(value.into()),
        false => Err(WordError::OutOfRange { kind, value, min, max }),
    }
}
