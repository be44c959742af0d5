//! Encodes and decodes `immed`, `immed_w1` and `nop`. The word stores the destination like a
//! source, and the low byte of the 16-bit constant as the other source. The high byte has a field
//! of its own.

use super::error::{WordError, in_range};
use super::field::{Class, common, immed, wide};
use super::operand::{Form, require_source};
use crate::{Bank, Insn, Operand};

const FORM: Form = Form::Unrestricted;
/// Width code: the instruction writes all four bytes.
const WIDTH_ALL: u64 = 0;
/// Width code: the instruction writes a half word.
const WIDTH_HALF: u64 = 2;

/// Returns the word of `nop`, which is an `immed` of zero without destination.
pub(super) fn nop() -> u64 {
    Class::Immed.bits() | wide::A.put(FORM.zero()) | wide::B.put(FORM.zero())
}

/// Encodes `immed[dst, value, <<shift]` as an instruction word.
pub(super) fn encode(
    (dst, both_banks): (Operand, bool),
    value: u32,
    shift: u8,
) -> Result<u64, WordError> {
    let (constant, inverted) = match (u16::try_from(value), u16::try_from(!value)) {
        (Ok(constant), _) => (constant, false),
        (_, Ok(complement)) => (complement, true),
        _ => return Err(WordError::Immed { value }),
    };
    if !matches!(shift, 0 | 8 | 16) {
        let value = shift.into();
        return Err(WordError::OutOfRange { kind: "shift by (8 and 16)", value, min: 0, max: 16 });
    }
    if dst == Operand::None && constant == 0 {
        return Err(WordError::DecodesAs { other: "nop" });
    }
    let word = immed::INVERTED.flag(inverted) | immed::SHIFT.put(u64::from(shift / 8));
    Ok(word | parts((dst, both_banks), constant)?)
}

/// Encodes `immed_w1[dst, value]` as an instruction word.
pub(super) fn encode_w1((dst, both_banks): (Operand, bool), value: u16) -> Result<u64, WordError> {
    // The shift selects the half word to replace.
    let word = immed::WIDTH.put(WIDTH_HALF) | immed::SHIFT.put(2);
    Ok(word | parts((require_source(dst)?, both_banks), value)?)
}

fn parts((dst, both_banks): (Operand, bool), constant: u16) -> Result<u64, WordError> {
    let result = FORM.destination(dst, both_banks)?;
    let [low, high] = constant.to_le_bytes();
    let sources = FORM.sources(dst, Operand::Immediate(low.into()))?;
    let a = if dst == Operand::None { result.code } else { sources.a };
    Ok(Class::Immed.bits()
        | wide::A.put(a)
        | wide::B.put(sources.b)
        | immed::HIGH.put(high.into())
        | common::BOTH.flag(both_banks)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high)
        | common::RESULT_LOCAL_HIGH.flag(result.local_high))
}

pub(super) fn read(word: u64) -> Option<Insn> {
    if word == nop() {
        return Some(Insn::Nop);
    }
    let local_high = common::RESULT_LOCAL_HIGH.is_set(word);
    let a = FORM.read(wide::A.get(word), Bank::A, local_high, false)?;
    let b = FORM.read(wide::B.get(word), Bank::B, local_high, false)?;
    let (dst, low) = match (a, b) {
        (Operand::Immediate(_), Operand::Immediate(low)) => (Operand::None, low),
        (dst, Operand::Immediate(low)) | (Operand::Immediate(low), dst) => (dst, low),
        _ => return None,
    };
    let constant = low | (immed::HIGH.get(word) as u32) << 8;
    let both_banks = common::BOTH.is_set(word);
    match immed::WIDTH.get(word) {
        WIDTH_ALL => {
            let value = if immed::INVERTED.is_set(word) { !constant } else { constant };
            let shift = in_range("shift by", immed::SHIFT.get(word) as u8, 0, 2).ok()?;
            Some(Insn::Immed { dst, value, shift: 8 * shift as u8, both_banks })
        }
        WIDTH_HALF => Some(Insn::ImmedW1 { dst, value: constant as u16, both_banks }),
        _ => None,
    }
}
