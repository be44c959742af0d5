//! Parses the attributes of an instruction, which follow the operands after commas, in any order.

use super::cursor::Cursor;
use super::error::{ParseCause, ParseError};
use super::operands::number;
use super::suggest::suggest;
use crate::MulStep;

const NAMES: [&str; 4] = ["gpr_wrboth", "defer", "ctx_swap", "indirect_ref"];

/// Attributes that follow the operands of an instruction, such as `defer[2]`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    pub both_banks: bool,
    pub indirect: bool,
    pub defer: u8,
    pub signal: Option<u8>,
    pub step: Option<MulStep>,
}

/// Parses all attributes up to the end of the line. `accepted` lists the attributes that the
/// instruction `mnemonic` supports; the entry `step` stands for any step of `mul_step`.
pub(super) fn attributes(
    cursor: &mut Cursor,
    mnemonic: &str,
    accepted: &[&str],
) -> Result<Attributes, ParseError> {
    let mut result = Attributes::default();
    let mut seen: Vec<&str> = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.rest().is_empty() {
            return Ok(result);
        }
        if !cursor.eat(',') {
            return Err(cursor.expected("`,` or the end of the line"));
        }
        cursor.skip_space();
        let column = cursor.column();
        let fail = |cause| ParseError::at_column(column, cause);
        let word = cursor.word();
        let step = MulStep::from_text(word);
        let name = if step.is_some() { "step" } else { word };
        if step.is_none() && !NAMES.contains(&word) {
            if word.is_empty() {
                return Err(cursor.expected("an attribute"));
            }
            let steps = MulStep::ALL.iter().map(|step| step.text());
            let hint = suggest(word, NAMES.into_iter().chain(steps));
            let cause = ParseCause::Unknown { what: "attribute", found: word.to_owned() };
            return Err(fail(cause).with_hint(hint));
        }
        if !accepted.contains(&name) {
            let cause = ParseCause::WrongAttribute {
                mnemonic: mnemonic.to_owned(),
                attribute: word.to_owned(),
            };
            return Err(fail(cause));
        }
        if seen.contains(&name) {
            return Err(fail(ParseCause::RepeatedAttribute(word.to_owned())));
        }
        seen.push(name);
        match name {
            "gpr_wrboth" => result.both_banks = true,
            "indirect_ref" => result.indirect = true,
            "defer" => result.defer = defer(cursor)?,
            "ctx_swap" => result.signal = Some(signal(cursor)?),
            _ => result.step = step,
        }
    }
}

fn defer(cursor: &mut Cursor) -> Result<u8, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    let slots = number(cursor, "number of delay slots", 1..=3)?;
    cursor.expect(']')?;
    Ok(slots)
}

fn signal(cursor: &mut Cursor) -> Result<u8, ParseError> {
    cursor.expect('[')?;
    cursor.skip_space();
    if !cursor.eat_text("sig") {
        return Err(cursor.expected("a signal such as sig1"));
    }
    let signal = number(cursor, "signal", 0..=15)?;
    cursor.expect(']')?;
    Ok(signal)
}
