//! Encodes and decodes `alu` and `mul_step`.

use super::error::WordError;
use super::field::{Class, alu, common, mul, wide};
use super::operand::{Destination, Form, Sources, check_both, require_source};
use crate::{AluOp, Insn, MulStep, Operand};

const FORM: Form = Form::Unrestricted;

const OPERATORS: [(AluOp, u64); 14] = [
    (AluOp::B, 0x00),
    (AluOp::Add, 0x01),
    (AluOp::NotB, 0x04),
    (AluOp::Add16, 0x05),
    (AluOp::And, 0x08),
    (AluOp::Add8, 0x09),
    (AluOp::NotAnd, 0x0c),
    (AluOp::SubCarry, 0x0d),
    (AluOp::AndNot, 0x10),
    (AluOp::AddCarry, 0x11),
    (AluOp::Or, 0x14),
    (AluOp::Sub, 0x15),
    (AluOp::Xor, 0x18),
    (AluOp::SubReversed, 0x19),
];

/// The steps of multiplications, each with the kind of multiplication and the number of the step in
/// it.
const STEPS: [(MulStep, u64, u64); 12] = [
    (MulStep::Start, 0, 0),
    (MulStep::Step24x8, 1, 0),
    (MulStep::Last24x8, 1, 4),
    (MulStep::Step16x16First, 2, 0),
    (MulStep::Step16x16Second, 2, 1),
    (MulStep::Last16x16, 2, 4),
    (MulStep::Step32x32First, 3, 0),
    (MulStep::Step32x32Second, 3, 1),
    (MulStep::Step32x32Third, 3, 2),
    (MulStep::Step32x32Fourth, 3, 3),
    (MulStep::Last32x32, 3, 4),
    (MulStep::Last32x32High, 3, 5),
];

/// Checks that the first source is present if and only if the operator reads it. Words do not
/// contain a source that the operator ignores.
pub(super) fn check_first(op: AluOp, a: Operand) -> Result<(), WordError> {
    match (op.ignores_first(), a) {
        (true, Operand::None) => Ok(()),
        (true, operand) => {
            let place = "the first source of an operator that ignores it (write `--`)";
            Err(WordError::Misplaced { operand, place })
        }
        (false, operand) => require_source(operand).map(|_| ()),
    }
}

/// Encodes `alu[dst, a, op, b]` as an instruction word.
pub(super) fn encode(
    (dst, both_banks): (Operand, bool),
    (a, op, b): (Operand, AluOp, Operand),
) -> Result<u64, WordError> {
    check_first(op, a)?;
    let result = FORM.destination(dst, both_banks)?;
    let sources = FORM.sources(a, require_source(b)?)?;
    let operator = OPERATORS.iter().find(|&&(known, _)| known == op).map_or(0, |&(_, code)| code);
    Ok(Class::Alu.bits()
        | alu::OPERATOR.put(operator)
        | alu::RESULT.put(result.code)
        | alu::RESULT_IN_B.flag(result.in_b)
        | alu::SWAP.flag(sources.swap)
        | shared(sources, result, both_banks))
}

/// Returns the bits of an instruction word that encode unrestricted sources and properties of the
/// result. These bits have the same position in several classes of instructions.
fn shared(sources: Sources, result: Destination, both_banks: bool) -> u64 {
    wide::A.put(sources.a)
        | wide::B.put(sources.b)
        | common::BOTH.flag(both_banks)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high)
        | common::RESULT_LOCAL_HIGH.flag(result.local_high)
}

fn sources(word: u64, swap: bool) -> Sources {
    Sources {
        a: wide::A.get(word),
        b: wide::B.get(word),
        swap,
        local_high: common::SOURCE_LOCAL_HIGH.is_set(word),
        constant_high: false,
    }
}

pub(super) fn read(word: u64) -> Option<Insn> {
    let operator = alu::OPERATOR.get(word);
    let &(op, _) = OPERATORS.iter().find(|&&(_, code)| code == operator)?;
    let (a, b) = FORM.read_sources(sources(word, alu::SWAP.is_set(word)))?;
    let a = if op.ignores_first() { Operand::None } else { a };
    let dst = FORM.read_destination(Destination {
        code: alu::RESULT.get(word),
        in_b: alu::RESULT_IN_B.is_set(word),
        local_high: common::RESULT_LOCAL_HIGH.is_set(word),
    })?;
    Some(Insn::Alu { dst, a, op, b, both_banks: common::BOTH.is_set(word) })
}

/// Encodes `mul_step[a, b], step` as an instruction word.
pub(super) fn encode_mul_step(
    (a, b): (Operand, Operand),
    step: MulStep,
    both_banks: bool,
) -> Result<u64, WordError> {
    let found = STEPS.iter().find(|&&(known, ..)| known == step);
    let (kind, number) = found.map_or((0, 0), |&(_, kind, number)| (kind, number));
    let word = Class::MulOrCsr.bits() | mul::KIND.put(kind) | mul::STEP.put(number);
    if !step.writes_result() {
        check_both(Operand::None, both_banks)?;
        let sources = FORM.sources(require_source(a)?, require_source(b)?)?;
        let no_result = Destination { code: 0, in_b: false, local_high: false };
        return Ok(word | mul::SWAP.flag(sources.swap) | shared(sources, no_result, false));
    }
    if b != Operand::None {
        let place = "a source of a last step, which has none";
        return Err(WordError::Misplaced { operand: b, place });
    }
    let result = FORM.destination(a, both_banks)?;
    let sources = Sources { a: result.code, ..FORM.sources(Operand::None, Operand::None)? };
    Ok(word | mul::RESULT_IN_B.flag(result.in_b) | shared(sources, result, both_banks))
}

pub(super) fn read_mul_step(word: u64) -> Option<Insn> {
    let (kind, number) = (mul::KIND.get(word), mul::STEP.get(word));
    let &(step, ..) = STEPS.iter().find(|&&(_, k, n)| (k, n) == (kind, number))?;
    let (a, b) = if step.writes_result() {
        let result = FORM.read_destination(Destination {
            code: wide::A.get(word),
            in_b: mul::RESULT_IN_B.is_set(word),
            local_high: common::RESULT_LOCAL_HIGH.is_set(word),
        })?;
        (result, Operand::None)
    } else {
        FORM.read_sources(sources(word, mul::SWAP.is_set(word)))?
    };
    Some(Insn::MulStep { a, b, step, both_banks: common::BOTH.is_set(word) })
}
