//! Parses the operands and attributes of branches.

use super::attributes::{Attributes, attributes};
use super::cursor::Cursor;
use super::error::ParseError;
use super::operands::{number, out_of_range, source};
use crate::{BranchCondition, Insn};

/// Parses the rest of a branch after its mnemonic: `[.target]` and attributes.
pub(super) fn branch(
    cursor: &mut Cursor,
    mnemonic: &str,
    condition: BranchCondition,
) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    let target = target(cursor)?;
    let defer = defer(cursor, mnemonic)?;
    Ok(Insn::Branch { condition, target, defer })
}

/// Parses the rest of `br_bset` or `br_bclr` after the mnemonic: `[src, bit, .target]` and
/// attributes.
pub(super) fn branch_bit(
    cursor: &mut Cursor,
    mnemonic: &str,
    set: bool,
) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    let src = source(cursor)?;
    cursor.expect(',')?;
    cursor.skip_space();
    let bit = number(cursor, "bit", 0..=31)?;
    cursor.expect(',')?;
    let target = target(cursor)?;
    let defer = defer(cursor, mnemonic)?;
    Ok(Insn::BranchBit { src, bit, set, target, defer })
}

/// Parses the rest of `rtn` after the mnemonic: `[src]` and attributes.
pub(super) fn rtn(cursor: &mut Cursor) -> Result<Insn, ParseError> {
    cursor.expect('[')?;
    let src = source(cursor)?;
    let defer = defer(cursor, "rtn")?;
    Ok(Insn::Return { src, defer })
}

/// Parses the number of an instruction, such as `.12`.
fn target(cursor: &mut Cursor) -> Result<u32, ParseError> {
    cursor.skip_space();
    let column = cursor.column();
    if !cursor.eat('.') {
        return Err(cursor.expected("a branch target such as .12"));
    }
    let digits = cursor.clone().take_while(|c| c.is_ascii_digit());
    if digits.is_empty() {
        return Err(cursor.expected("a branch target such as .12"));
    }
    cursor
        .decimal()
        .and_then(|target| u32::try_from(target).ok())
        .ok_or_else(|| out_of_range(column, "branch target", format!(".{digits}"), "of 32 bits"))
}

/// Parses the `]` after a branch's operands and the optional attribute `defer[n]`. Returns the
/// number of delay slots.
fn defer(cursor: &mut Cursor, mnemonic: &str) -> Result<u8, ParseError> {
    cursor.expect(']')?;
    let Attributes { defer, .. } = attributes(cursor, mnemonic, &["defer"])?;
    Ok(defer)
}
