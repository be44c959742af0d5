//! Parses listings in the format of the NFP disassembler.
//!
//! Each line has one instruction: a hexadecimal byte address, a colon, `.N`, the mnemonic, the
//! operands, and the attributes. The parser skips blank lines and comments: from `;` or `//` to the
//! end of the line, and lines that start with `#`. Spaces and tabs may separate any two tokens. The
//! targets of branches are checked in `lift`, not here.

mod attributes;
mod branches;
mod cursor;
mod effects;
mod error;
mod insn;
mod operands;
mod suggest;

pub use error::{ParseCause, ParseError};

use crate::listing::{FIRST_EXIT, Listing, Numbered};
use crate::print::INSN_BYTES;
use cursor::Cursor;

/// Largest size of a listing in bytes: 15,000 instructions with room for comments.
const MAX_BYTES: usize = 8 << 20;
/// Longest line in bytes, without comment. Every instruction is shorter.
const MAX_LINE_BYTES: usize = 400;

/// Parses a listing from the bytes of a file.
///
/// # Errors
/// [`ParseError`] at the first line that is not part of a listing, or at line 1 if the input is
/// empty, binary or too large.
pub fn parse_bytes(bytes: &[u8]) -> Result<Listing, ParseError> {
    if bytes.is_empty() {
        return Err(ParseError::at_line(1, ParseCause::Empty));
    }
    // The search ends at `MAX_BYTES`, which bounds its time for inputs of any size.
    let start = &bytes[..bytes.len().min(MAX_BYTES)];
    if let Some(offset) = start.iter().position(|&byte| byte == 0) {
        return Err(ParseError::at_line(line_of(bytes, offset), ParseCause::Binary { offset }));
    }
    if bytes.len() > MAX_BYTES {
        return Err(ParseError::at_line(1, ParseCause::TooLarge { bytes: bytes.len() }));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let offset = error.valid_up_to();
            Err(ParseError::at_line(line_of(bytes, offset), ParseCause::Binary { offset }))
        }
    }
}

/// Parses a listing.
///
/// # Errors
/// [`ParseError`] at the first line that is not part of a listing.
pub fn parse(text: &str) -> Result<Listing, ParseError> {
    if text.is_empty() {
        return Err(ParseError::at_line(1, ParseCause::Empty));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut insns = Vec::new();
    let mut last_line = 1;
    for (line, content) in (1..).zip(text.lines()) {
        last_line = line;
        let code = without_comment(content);
        if code.trim().is_empty() {
            continue;
        }
        if code.len() > MAX_LINE_BYTES {
            return Err(ParseError::at_line(line, ParseCause::LongLine { bytes: code.len() }));
        }
        if insns.len() >= FIRST_EXIT as usize {
            return Err(ParseError::at_line(line, ParseCause::TooManyInstructions));
        }
        let insn = numbered_insn(code, insns.len()).map_err(|error| error.in_line(line))?;
        insns.push(Numbered { insn, line });
    }
    if insns.is_empty() {
        return Err(ParseError::at_line(last_line, ParseCause::NoInstructions));
    }
    Ok(Listing::from_numbered(insns))
}

fn line_of(bytes: &[u8], offset: usize) -> u32 {
    let newlines = bytes[..offset].iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(newlines).map_or(u32::MAX, |count| count.saturating_add(1))
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    let end = [line.find(';'), line.find("//")].into_iter().flatten().min();
    &line[..end.unwrap_or(line.len())]
}

/// Parses the line of instruction `number`.
fn numbered_insn(code: &str, number: usize) -> Result<crate::Insn, ParseError> {
    let mut cursor = Cursor::new(code);
    cursor.skip_space();
    let column = cursor.column();
    let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
    let address = u64::from_str_radix(digits, 16).ok();
    let address = match address {
        Some(address) if cursor.eat(':') => address,
        _ => return Err(ParseError::at_column(column, ParseCause::NoAddress)),
    };
    let expected = number * INSN_BYTES;
    if address != expected as u64 {
        return Err(ParseError::at_column(
            column,
            ParseCause::WrongAddress { found: address, expected, number },
        ));
    }
    cursor.skip_space();
    let column = cursor.column();
    let label = match cursor.eat('.') {
        true => cursor.decimal(),
        false => None,
    };
    match label {
        Some(label) if label == number as u64 => {}
        Some(found) => {
            let cause = ParseCause::WrongNumber { found, expected: number };
            return Err(ParseError::at_column(column, cause));
        }
        None => return Err(ParseError::at_column(column, ParseCause::NoNumber { number })),
    }
    insn::parse_insn(&mut cursor)
}

#[cfg(test)]
mod tests;
