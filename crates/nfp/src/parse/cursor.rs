//! A cursor that moves over the characters of one line.

use super::error::{ParseCause, ParseError};

/// The text of a line, and the offset in bytes of the next character.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    offset: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(line: &'a str) -> Self {
        Cursor { line, offset: 0 }
    }

    pub fn rest(&self) -> &'a str {
        &self.line[self.offset..]
    }

    /// Returns the position of the next character in the line, counted from 1.
    pub fn column(&self) -> u32 {
        // The cast is lossless: lines are limited to `MAX_LINE_BYTES`.
        self.line[..self.offset].chars().count() as u32 + 1
    }

    pub fn skip_space(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t' || c == '\r');
    }

    /// Reads characters as long as `fits` returns true for them. Returns the text that was read.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.offset += end;
        &rest[..end]
    }

    /// Reads the character `c` if it comes next. Returns true if it did.
    pub fn eat(&mut self, c: char) -> bool {
        self.eat_text(c.encode_utf8(&mut [0; 4]))
    }

    /// Reads the given text if it comes next. Returns true if it did.
    pub fn eat_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.offset += text.len();
        }
        found
    }

    /// Skips white space and reads the character `c`. Returns an error if another character comes
    /// next.
    pub fn expect(&mut self, c: char) -> Result<(), ParseError> {
        self.skip_space();
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// Reads a decimal number without a sign, if one comes next.
    pub fn decimal(&mut self) -> Option<u64> {
        self.take_while(|c| c.is_ascii_digit()).parse().ok()
    }

    /// Reads the text up to the next space, comma or bracket, and returns it.
    pub fn word(&mut self) -> &'a str {
        self.take_while(|c| !matches!(c, ' ' | '\t' | '\r' | ',' | '[' | ']'))
    }

    /// Returns the error that the next word is not the expected one, which `what` describes.
    pub fn expected(&self, what: &str) -> ParseError {
        let found = match self.clone().word() {
            "" => match self.rest().chars().next() {
                None => "the end of the line".to_owned(),
                Some(c) => format!("`{c}`"),
            },
            word => format!("`{word}`"),
        };
        let cause = ParseCause::Expected { expected: what.to_owned(), found };
        ParseError::at_column(self.column(), cause)
    }
}
