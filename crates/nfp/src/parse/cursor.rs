//! A cursor that moves over the characters of one line.

use super::error::{ParseCause, ParseError};

/// A line and the offset of the next character in bytes.
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

    /// Returns the current column in characters, from 1.
    pub fn column(&self) -> u32 {
        // The cast is lossless: lines are limited to `MAX_LINE_BYTES`.
        self.line[..self.offset].chars().count() as u32 + 1
    }

    pub fn skip_space(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t' || c == '\r');
    }

    /// Consumes characters while `fits` holds, and returns them.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.offset += end;
        &rest[..end]
    }

    /// Consumes this character if it is next; returns true if it was.
    pub fn eat(&mut self, c: char) -> bool {
        self.eat_text(c.encode_utf8(&mut [0; 4]))
    }

    /// Consumes this text if it is next; returns true if it was.
    pub fn eat_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.offset += text.len();
        }
        found
    }

    /// Skips space and consumes this character, or fails if another one follows.
    pub fn expect(&mut self, c: char) -> Result<(), ParseError> {
        self.skip_space();
        if self.eat(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// Consumes a decimal number without sign.
    pub fn decimal(&mut self) -> Option<u64> {
        self.take_while(|c| c.is_ascii_digit()).parse().ok()
    }

    /// Consumes the characters up to the next space, comma or bracket, and returns them.
    pub fn word(&mut self) -> &'a str {
        self.take_while(|c| !matches!(c, ' ' | '\t' | '\r' | ',' | '[' | ']'))
    }

    /// Returns the error that the next token is not `what`.
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
