//! Encodes and decodes shifts: `alu_shf`, `asr`, `dbl_shf`, `ld_field` and `ld_field_w_clr`.

use super::alu::check_first;
use super::error::{WordError, in_range};
use super::field::{Class, common, ld_field, narrow, shift};
use super::operand::{Destination, Form, Sources, require_source};
use crate::{AluOp, Insn, Operand, Shift, ShiftAmount, ShiftKind};

const FORM: Form = Form::RestrictedByte;

const OPERATORS: [AluOp; 6] =
    [AluOp::B, AluOp::NotB, AluOp::And, AluOp::NotAnd, AluOp::AndNot, AluOp::Or];
const ARITHMETIC: u64 = 6;

const ROTATE_RIGHT: u64 = 0;
const RIGHT: u64 = 1;
const LEFT: u64 = 2;
const DOUBLE: u64 = 3;
/// Number of bits in a register of the card.
const WORD_BITS: u8 = 32;

/// Encodes the kind and the amount of a shift. A left shift by n is stored as 32 - n. The amount 0
/// stands for an indirect shift.
fn shift_fields(shift: Shift) -> Result<u64, WordError> {
    let fail = |hint| Err(WordError::Shift { shift, hint });
    let kind = match shift.kind {
        ShiftKind::RotateRight => ROTATE_RIGHT,
        ShiftKind::Right => RIGHT,
        ShiftKind::Left => LEFT,
        ShiftKind::RotateLeft => return fail("rotate to the right by 32 bits less"),
    };
    let bits = match shift.amount {
        ShiftAmount::Indirect if kind == ROTATE_RIGHT => {
            return fail("rotations have constant amounts");
        }
        ShiftAmount::Indirect => 0,
        ShiftAmount::Bits(0) if kind != ROTATE_RIGHT => {
            return fail("its word means an indirect shift; for no shift write `>>rot0`");
        }
        ShiftAmount::Bits(bits @ WORD_BITS..) => {
            return Err(in_range("shift by", bits, 0, 31).err().unwrap_or(WordError::NoShift));
        }
        ShiftAmount::Bits(bits) if kind == LEFT => WORD_BITS - bits,
        ShiftAmount::Bits(bits) => bits,
    };
    Ok(narrow::SHIFT_KIND.put(kind) | narrow::SHIFT_BITS.put(bits.into()))
}

/// Decodes the shift of an instruction word; `None` for a shift of a register pair (`dbl_shf`).
fn read_shift(word: u64) -> Option<Shift> {
    let bits = narrow::SHIFT_BITS.get(word) as u8;
    let straight = |bits| if bits == 0 { ShiftAmount::Indirect } else { ShiftAmount::Bits(bits) };
    let (kind, amount) = match narrow::SHIFT_KIND.get(word) {
        ROTATE_RIGHT => (ShiftKind::RotateRight, ShiftAmount::Bits(bits)),
        RIGHT => (ShiftKind::Right, straight(bits)),
        LEFT => (ShiftKind::Left, straight((WORD_BITS - bits) % WORD_BITS)),
        _ => return None,
    };
    Some(Shift { kind, amount })
}

fn right(amount: ShiftAmount) -> Result<u64, WordError> {
    shift_fields(Shift { kind: ShiftKind::Right, amount })
}

/// Encodes a shift instruction from its operator and shift fields.
fn with_result(
    (dst, both_banks): (Operand, bool),
    (a, b): (Operand, Operand),
    operator: u64,
    shift: u64,
) -> Result<u64, WordError> {
    let result = FORM.destination(dst, both_banks)?;
    let sources = FORM.sources(a, require_source(b)?)?;
    Ok(Class::Shift.bits()
        | shift
        | shift::OPERATOR.put(operator)
        | shift::RESULT.put(result.code)
        | shift::RESULT_IN_B.flag(result.in_b)
        | shared(sources, result, both_banks))
}

fn shared(sources: Sources, result: Destination, both_banks: bool) -> u64 {
    narrow::A.put(sources.a)
        | narrow::B.put(sources.b)
        | narrow::SWAP.flag(sources.swap)
        | narrow::CONSTANT_HIGH.flag(sources.constant_high)
        | common::BOTH.flag(both_banks)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high)
        | common::RESULT_LOCAL_HIGH.flag(result.local_high)
}

/// Encodes `alu_shf[dst, a, op, b, shift]`.
pub(super) fn encode_alu_shf(
    dst: (Operand, bool),
    (a, op, b): (Operand, AluOp, Operand),
    shift: Option<Shift>,
) -> Result<u64, WordError> {
    let unknown = WordError::Operator { instruction: "alu_shf", operator: op.text() };
    let operator = OPERATORS.iter().position(|&known| known == op).ok_or(unknown)? as u64;
    check_first(op, a)?;
    with_result(dst, (a, b), operator, shift_fields(shift.ok_or(WordError::NoShift)?)?)
}

/// Encodes `asr[dst, b, >>n]`.
pub(super) fn encode_asr(
    dst: (Operand, bool),
    b: Operand,
    amount: ShiftAmount,
) -> Result<u64, WordError> {
    with_result(dst, (Operand::None, b), ARITHMETIC, right(amount)?)
}

/// Encodes `dbl_shf[dst, a, b, >>n]`.
pub(super) fn encode_dbl_shf(
    dst: (Operand, bool),
    (a, b): (Operand, Operand),
    amount: ShiftAmount,
) -> Result<u64, WordError> {
    let shift = right(amount)? | narrow::SHIFT_KIND.put(DOUBLE);
    with_result(dst, (require_source(a)?, b), 0, shift)
}

fn sources(word: u64) -> Sources {
    Sources {
        a: narrow::A.get(word),
        b: narrow::B.get(word),
        swap: narrow::SWAP.is_set(word),
        local_high: common::SOURCE_LOCAL_HIGH.is_set(word),
        constant_high: narrow::CONSTANT_HIGH.is_set(word),
    }
}

pub(super) fn read(word: u64) -> Option<Insn> {
    let (a, b) = FORM.read_sources(sources(word))?;
    let dst = FORM.read_destination(Destination {
        code: shift::RESULT.get(word),
        in_b: shift::RESULT_IN_B.is_set(word),
        local_high: common::RESULT_LOCAL_HIGH.is_set(word),
    })?;
    let both_banks = common::BOTH.is_set(word);
    let operator = shift::OPERATOR.get(word);
    if operator == 0 && narrow::SHIFT_KIND.get(word) == DOUBLE {
        let amount = match narrow::SHIFT_BITS.get(word) as u8 {
            0 => ShiftAmount::Indirect,
            bits => ShiftAmount::Bits(bits),
        };
        return Some(Insn::DblShf { dst, a, b, amount, both_banks });
    }
    let shift = read_shift(word)?;
    if operator == ARITHMETIC {
        return Some(Insn::Asr { dst, b, amount: shift.amount, both_banks });
    }
    let op = *OPERATORS.get(operator as usize)?;
    let a = if op.ignores_first() { Operand::None } else { a };
    Some(Insn::AluShf { dst, a, op, b, shift: Some(shift), both_banks })
}

/// Encodes `ld_field[dst, mask, src, shift]`, whose destination is also its first source operand.
pub(super) fn encode_ld_field(
    (dst, both_banks): (Operand, bool),
    (mask, clear): (u8, bool),
    (src, shift): (Operand, Option<Shift>),
) -> Result<u64, WordError> {
    let none = Shift { kind: ShiftKind::RotateRight, amount: ShiftAmount::Bits(0) };
    if shift == Some(none) {
        return Err(WordError::Shift { shift: none, hint: "leave it out" });
    }
    let mask = in_range("mask", mask, 0, 0xf)?;
    let result = FORM.destination(require_source(dst)?, both_banks)?;
    let sources = FORM.sources(dst, require_source(src)?)?;
    Ok(Class::LdField.bits()
        | shift_fields(shift.unwrap_or(none))?
        | ld_field::MASK.put(mask)
        | ld_field::CLEAR.flag(clear)
        | shared(sources, result, both_banks))
}

pub(super) fn read_ld_field(word: u64) -> Option<Insn> {
    let (dst, src) = FORM.read_sources(sources(word))?;
    let shift = read_shift(word)?;
    let none = shift == Shift { kind: ShiftKind::RotateRight, amount: ShiftAmount::Bits(0) };
    Some(Insn::LdField {
        dst,
        mask: ld_field::MASK.get(word) as u8,
        src,
        shift: (!none).then_some(shift),
        clear: ld_field::CLEAR.is_set(word),
        both_banks: common::BOTH.is_set(word),
    })
}
