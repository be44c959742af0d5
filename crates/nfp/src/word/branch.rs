//! Encodes and decodes branches.

use super::error::{WordError, in_range};
use super::field::{Class, branch, common, narrow, wide};
use super::operand::{Form, require_source};
use crate::{Bank, BranchCondition, Insn, Operand};

/// Largest instruction number that fits into the branch target of a word.
const LAST_TARGET: u32 = (1 << (TARGET_LOW_BITS + 1)) - 1;
const TARGET_LOW_BITS: u32 = 13;
/// Value of the signal field for branches that do not test a signal.
const NO_SIGNAL: u64 = 2;
const LAST_BIT: u32 = 31;

const CONDITIONS: [(BranchCondition, u64); 13] = [
    (BranchCondition::Equal, 0x00),
    (BranchCondition::NotEqual, 0x01),
    (BranchCondition::Minus, 0x02),
    (BranchCondition::Plus, 0x03),
    (BranchCondition::CarrySet, 0x04),
    (BranchCondition::CarryClear, 0x05),
    (BranchCondition::OverflowSet, 0x06),
    (BranchCondition::OverflowClear, 0x07),
    (BranchCondition::GreaterOrEqual, 0x08),
    (BranchCondition::Less, 0x09),
    (BranchCondition::LessOrEqual, 0x0a),
    (BranchCondition::Greater, 0x0b),
    (BranchCondition::Always, 0x18),
];

fn target_and_defer(target: u32, defer: u8, most: u32) -> Result<u64, WordError> {
    let target = in_range("branch target", target, 0, LAST_TARGET)?;
    Ok(branch::TARGET_LOW.put(target)
        | branch::TARGET_HIGH.put(target >> TARGET_LOW_BITS)
        | branch::DEFER.put(in_range("number of delay slots", defer, 0, most)?))
}

fn read_target(word: u64) -> u32 {
    (branch::TARGET_HIGH.get(word) << TARGET_LOW_BITS | branch::TARGET_LOW.get(word)) as u32
}

fn read_defer(word: u64) -> u8 {
    branch::DEFER.get(word) as u8
}

/// Encodes `br[.target]` and the conditional branches. An unconditional branch has at most two
/// delay slots.
pub(super) fn encode(condition: BranchCondition, target: u32, defer: u8) -> Result<u64, WordError> {
    let always = condition == BranchCondition::Always;
    let found = CONDITIONS.iter().find(|&&(known, _)| known == condition);
    Ok(Class::Branch.bits()
        | branch::ONE.flag(true)
        | branch::CONDITION.put(found.map_or(0, |&(_, code)| code))
        | branch::CONDITIONAL.flag(!always)
        | branch::SIGNAL_STATE.put(NO_SIGNAL)
        | target_and_defer(target, defer, if always { 2 } else { 3 })?)
}

pub(super) fn read(word: u64) -> Option<Insn> {
    let code = branch::CONDITION.get(word);
    let &(condition, _) = CONDITIONS.iter().find(|&&(_, known)| known == code)?;
    Some(Insn::Branch { condition, target: read_target(word), defer: read_defer(word) })
}

/// Encodes `br_bset[src, bit, .target]` and `br_bclr[…]`. The second source encodes the bit as a
/// rotation that moves the bit to the top.
pub(super) fn encode_bit(
    src: Operand,
    (bit, set): (u8, bool),
    target: u32,
    defer: u8,
) -> Result<u64, WordError> {
    let bit = in_range("bit", bit, 0, LAST_BIT)? as u32;
    let operand = require_source(src)?;
    if let Operand::Immediate(_) = operand {
        return Err(WordError::Misplaced { operand, place: "the word whose bit is tested" });
    }
    let sources = Form::Restricted.sources(src, Operand::Immediate(bit + 1))?;
    Ok(Class::BranchBit.bits()
        | narrow::A.put(sources.a)
        | narrow::B.put(sources.b)
        | branch::BIT_VALUE.flag(set)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high)
        | target_and_defer(target, defer, 3)?)
}

pub(super) fn read_bit(word: u64) -> Option<Insn> {
    let local_high = common::SOURCE_LOCAL_HIGH.is_set(word);
    let a = Form::Restricted.read(narrow::A.get(word), Bank::A, local_high, false)?;
    let b = Form::Restricted.read(narrow::B.get(word), Bank::B, local_high, false)?;
    let (src, rotation) = match (a, b) {
        (src, Operand::Immediate(rotation)) | (Operand::Immediate(rotation), src) => {
            (src, rotation)
        }
        _ => return None,
    };
    Some(Insn::BranchBit {
        src,
        bit: u8::try_from(rotation.checked_sub(1)?).ok()?,
        set: branch::BIT_VALUE.is_set(word),
        target: read_target(word),
        defer: read_defer(word),
    })
}

/// Encodes `rtn[src]` as an instruction word.
pub(super) fn encode_return(src: Operand, defer: u8) -> Result<u64, WordError> {
    let operand = require_source(src)?;
    if let Operand::Immediate(_) = operand {
        return Err(WordError::Misplaced { operand, place: "the register of `rtn`" });
    }
    let sources = Form::Unrestricted.sources(src, Operand::Immediate(0))?;
    Ok(Class::Return.bits()
        | wide::A.put(sources.a)
        | wide::B.put(sources.b)
        | common::SOURCE_LOCAL_HIGH.flag(sources.local_high)
        | branch::DEFER.put(in_range("number of delay slots", defer, 0, 3)?))
}

pub(super) fn read_return(word: u64) -> Option<Insn> {
    let local_high = common::SOURCE_LOCAL_HIGH.is_set(word);
    let a = Form::Unrestricted.read(wide::A.get(word), Bank::A, local_high, false)?;
    let b = Form::Unrestricted.read(wide::B.get(word), Bank::B, local_high, false)?;
    let src = if let Operand::Immediate(_) = a { b } else { a };
    Some(Insn::Return { src, defer: read_defer(word) })
}
