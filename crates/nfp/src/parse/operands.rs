//! Parses operands: registers, words of local memory, constants and shifts.

use std::ops::RangeInclusive;

use super::cursor::Cursor;
use super::error::{ParseCause, ParseError};
use crate::{Bank, LocalAccess, Operand, Shift, ShiftAmount, ShiftKind};

/// Valid numbers of general-purpose registers in a bank, and of transfer registers.
pub(super) const REGISTERS: RangeInclusive<u8> = 0..=31;
/// The largest constant that fits into an operand.
const MAX_CONSTANT: u32 = 0xff;

const FORMS: &str =
    "operands are gprA_n, gprB_n, $xfer_n, *l$index0..3, *l$index0..3[k], 0x… and --";

/// The use of an operand in an instruction, such as source or destination. The use decides whether
/// an operand is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Destination of a result; `--` discards the result.
    Destination,
    /// Destination in which some bytes keep their old value.
    Merged,
    /// Source that must be present.
    Source,
    /// Source, or `--` if the operator does not use it.
    OptionalSource,
    /// Register or constant as part of an address.
    Address,
}

impl Role {
    fn accepts(self, operand: Operand) -> bool {
        match operand {
            Operand::None => matches!(self, Role::Destination | Role::OptionalSource),
            Operand::Immediate(_) => !matches!(self, Role::Destination | Role::Merged),
            Operand::Local { .. } => self != Role::Address,
            Operand::Xfer(_) => !matches!(self, Role::Address | Role::Merged),
            Operand::Gpr(..) => true,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Role::Destination => "a destination",
            Role::Merged => "a destination whose old value is read",
            Role::Source | Role::OptionalSource => "a source",
            Role::Address => "part of an address",
        }
    }
}

/// Parses an operand, and checks that it is allowed in the given role.
pub(super) fn operand(cursor: &mut Cursor, role: Role) -> Result<Operand, ParseError> {
    cursor.skip_space();
    let column = cursor.column();
    let start = cursor.clone();
    let operand = any_operand(cursor)?;
    if let Operand::Immediate(value) = operand
        && value > MAX_CONSTANT
    {
        return Err(out_of_range(column, "constant", format!("{value:#x}"), "at most 0xff")
            .with_hint("load larger constants into registers with `immed`".to_owned()));
    }
    if role.accepts(operand) {
        return Ok(operand);
    }
    let text = &start.rest()[..start.rest().len() - cursor.rest().len()];
    let cause = ParseCause::Misplaced { operand: text.to_owned(), role: role.text() };
    Err(ParseError::at_column(column, cause))
}

pub(super) fn source(cursor: &mut Cursor) -> Result<Operand, ParseError> {
    operand(cursor, Role::Source)
}

fn any_operand(cursor: &mut Cursor) -> Result<Operand, ParseError> {
    if cursor.eat_text("--") {
        return Ok(Operand::None);
    }
    if cursor.eat_text("gprA_") {
        return Ok(Operand::Gpr(Bank::A, number(cursor, "register", REGISTERS)?));
    }
    if cursor.eat_text("gprB_") {
        return Ok(Operand::Gpr(Bank::B, number(cursor, "register", REGISTERS)?));
    }
    if cursor.eat_text("$xfer_") {
        return Ok(Operand::Xfer(number(cursor, "transfer register", REGISTERS)?));
    }
    if cursor.eat_text("*l$index") {
        let index = number(cursor, "local memory index", 0..=3)?;
        return Ok(Operand::Local { index, access: local_access(cursor)? });
    }
    if cursor.rest().starts_with("0x") {
        return Ok(Operand::Immediate(hexadecimal(cursor)?));
    }
    Err(cursor.expected("an operand").with_hint(FORMS.to_owned()))
}

fn local_access(cursor: &mut Cursor) -> Result<LocalAccess, ParseError> {
    if cursor.eat_text("++") {
        return Ok(LocalAccess::Increment);
    }
    if cursor.eat_text("--") {
        return Ok(LocalAccess::Decrement);
    }
    if !cursor.eat('[') {
        return Ok(LocalAccess::Word(0));
    }
    cursor.skip_space();
    let word = number(cursor, "local memory word", 0..=15)?;
    cursor.expect(']')?;
    Ok(LocalAccess::Word(word))
}

/// Parses a decimal number that must be in the given range.
pub(super) fn number(
    cursor: &mut Cursor,
    what: &'static str,
    range: RangeInclusive<u8>,
) -> Result<u8, ParseError> {
    let column = cursor.column();
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    if digits.is_empty() {
        return Err(cursor.expected("a decimal number"));
    }
    digits.parse().ok().filter(|value| range.contains(value)).ok_or_else(|| {
        let range = format!("{} to {}", range.start(), range.end());
        out_of_range(column, what, digits.to_owned(), range)
    })
}

/// Parses a hexadecimal constant `0x…`.
pub(super) fn hexadecimal(cursor: &mut Cursor) -> Result<u32, ParseError> {
    let column = cursor.column();
    let mut ahead = cursor.clone();
    if !ahead.eat_text("0x") {
        return Err(cursor.expected("a constant such as 0x1f"));
    }
    let digits = ahead.take_while(|c| c.is_ascii_hexdigit());
    if digits.is_empty() {
        return Err(cursor.expected("a constant such as 0x1f"));
    }
    *cursor = ahead;
    u32::from_str_radix(digits, 16)
        .map_err(|_| out_of_range(column, "constant", format!("0x{digits}"), "a value of 32 bits"))
}

/// Parses a shift, such as `<<8`, `>>rot16` or `>>indirect`.
pub(super) fn shift(cursor: &mut Cursor) -> Result<Shift, ParseError> {
    cursor.skip_space();
    let column = cursor.column();
    let left = if cursor.eat_text("<<") {
        true
    } else if cursor.eat_text(">>") {
        false
    } else {
        return Err(cursor.expected("a shift such as <<8, >>rot16 or >>indirect"));
    };
    if cursor.eat_text("indirect") {
        let kind = if left { ShiftKind::Left } else { ShiftKind::Right };
        return Ok(Shift { kind, amount: ShiftAmount::Indirect });
    }
    let kind = match (left, cursor.eat_text("rot")) {
        (true, false) => ShiftKind::Left,
        (false, false) => ShiftKind::Right,
        (true, true) => ShiftKind::RotateLeft,
        (false, true) => ShiftKind::RotateRight,
    };
    if !cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
        return Err(cursor.expected("a number of bits or `indirect`"));
    }
    let bits = number(cursor, "shift by", 0..=31).map_err(|error| error.in_column(column))?;
    Ok(Shift { kind, amount: ShiftAmount::Bits(bits) })
}

pub(super) fn out_of_range(
    column: u32,
    what: &'static str,
    value: String,
    range: impl Into<String>,
) -> ParseError {
    ParseError::at_column(column, ParseCause::OutOfRange { what, value, range: range.into() })
}
