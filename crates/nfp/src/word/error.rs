//! Errors that occur when instruction words are encoded or decoded.

use thiserror::Error;

use crate::{Operand, Shift};

/// Reason why an instruction cannot be encoded as a word, or a word cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// Both source operands are of the same kind, such as transfer registers, of which a word can
    /// contain only one.
    #[error("`{first}` and `{second}` cannot be sources of one instruction: both are {kind}")]
    SourceConflict {
        /// The first source operand.
        first: Operand,
        /// The second source operand.
        second: Operand,
        /// Kind of both sources, such as `transfer registers`.
        kind: &'static str,
    },
    /// The instruction does not allow this operand at its position.
    #[error("`{operand}` cannot be {place}")]
    Misplaced {
        /// The operand that is not allowed.
        operand: Operand,
        /// Description of the position at which the operand is not allowed.
        place: &'static str,
    },
    /// A constant does not fit into the bits of its operand.
    #[error("the constant {value:#x} is larger than {max:#x} (load larger ones with `immed`)")]
    Constant {
        /// The constant that is too large.
        value: u32,
        /// Largest constant that the operand can encode.
        max: u32,
    },
    /// A number is too small or too large.
    #[error("{kind} {value} is not {min} to {max}")]
    OutOfRange {
        /// Name of the number, such as `number of delay slots`.
        kind: &'static str,
        /// The number that is too small or too large.
        value: u32,
        /// Smallest allowed number.
        min: u32,
        /// Largest allowed number.
        max: u32,
    },
    /// The instruction has no encoding for this shift.
    #[error("the shift `{shift}` has no encoding here ({hint})")]
    Shift {
        /// The shift that cannot be encoded.
        shift: Shift,
        /// Advice on the shifts that can be encoded.
        hint: &'static str,
    },
    /// The instruction needs a shift but has none.
    #[error("no shift is given (for no shift write `>>rot0`)")]
    NoShift,
    /// `gpr_wrboth` is set although the result is not in a register bank.
    #[error("gpr_wrboth: `{operand}` is not in a register bank")]
    BothBanks {
        /// Destination operand of the instruction.
        operand: Operand,
    },
    /// The constant of an `immed` and its complement both have more than 16 bits.
    #[error("the constant {value:#x} is neither 16 bits nor the complement of 16 bits")]
    Immed {
        /// The constant that cannot be encoded.
        value: u32,
    },
    /// The word of the instruction would be decoded as another instruction.
    #[error("its word is that of `{other}`")]
    DecodesAs {
        /// Mnemonic of the instruction that the word decodes to.
        other: &'static str,
    },
    /// The instruction does not have this operator.
    #[error("`{instruction}` has no operator {operator}")]
    Operator {
        /// Mnemonic of the instruction.
        instruction: &'static str,
        /// The operator that the instruction does not have.
        operator: &'static str,
    },
    /// The compiler does not use this control register.
    #[error("the control register at {csr:#x} is not supported")]
    ControlRegister {
        /// Byte address of the control register.
        csr: u16,
    },
    /// The encoder does not produce this word.
    #[error("{word:#013x} is not an instruction that the compiler emits")]
    Unknown {
        /// The instruction word.
        word: u64,
    },
}

/// Returns `value` as a larger type, or an error if it is not between `min` and `max`.
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
