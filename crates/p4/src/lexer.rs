//! Splits a source text into lexemes: tokens of P4_16 (specification, section 6.3) before the
//! preprocessor replaces macros. A fault becomes a lexeme, because text that `#if` skips may have
//! any content.

use std::collections::HashSet;
use std::rc::Rc;

use crate::token::Span;

/// Symbols of more than one character, the longest first. `>>` is missing: it also ends nested type
/// arguments, so the parser joins two `>`.
const SYMBOLS: &[&str] = &[
    "|+|=", "|-|=", "&&&", "...", "<<=", "|+|", "|-|", "..", "&&", "||", "==", "!=", "<=", ">=",
    "<<", "++", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+:", "{#", "##",
];

/// Symbols of a single character.
const CHARACTERS: &[u8] = b"+-*/%|&^~()[]{}<>!:,?.=;@#";

/// Reason why a text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A character that P4 does not use.
    Character,
    /// A string without its closing quote.
    Text,
    /// A comment without `*/`.
    Comment,
}

/// Kind of a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A digit, and the letters, digits and underscores after it. It may be an invalid P4 number.
    Number,
    /// A string, without quotes and with resolved escapes.
    Text,
    /// An operator or punctuation character.
    Symbol,
    /// Text that is not a token.
    Flaw(Flaw),
    /// The end of the line of a preprocessor directive.
    LineEnd,
    /// The end of the source text.
    End,
}

/// A token before macro replacement.
#[derive(Clone, Debug)]
pub(crate) struct Lexeme {
    pub kind: Kind,
    pub text: Rc<str>,
    pub span: Span,
    /// True if white space or a comment precedes the token.
    pub spaced: bool,
    /// True for the first token of a line; `#` there starts a directive.
    pub first: bool,
    /// True if a line ends between the previous token and this token, even inside a comment.
    pub broken: bool,
    /// False for the name of a macro inside its own replacement, which is not replaced again.
    pub expandable: bool,
}

impl Lexeme {
    /// Returns true for a symbol or word with this text.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Symbol | Kind::Word) && &*self.text == text
    }
}

/// Interned texts of tokens: each different text is stored once.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<Rc<str>>);

impl Names {
    /// Returns the shared copy of a text.
    pub fn get(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let new: Rc<str> = text.into();
        self.0.insert(new.clone());
        new
    }
}

/// Position of the lexer in a source text.
#[derive(Debug)]
pub(crate) struct Lexer {
    text: Rc<str>,
    /// Offset in bytes.
    position: usize,
    /// Index of the file in the spans of lexemes.
    pub file: u32,
    /// Current line, counted from 1.
    pub line: u32,
    /// Current column in characters, counted from 1.
    column: u32,
    /// True if the line has only white space and comments before the current position.
    first: bool,
}

impl Lexer {
    /// Creates a lexer at the beginning of a text.
    pub fn new(file: u32, text: Rc<str>) -> Lexer {
        let position = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, position, file, line: 1, column: 1, first: true }
    }

    /// Returns the current position as an empty span.
    pub fn place(&self) -> Span {
        Span {
            file: self.file,
            line: self.line,
            column: self.column,
            end: (self.line, self.column),
        }
    }

    /// Reads a lexeme. In a directive, returns [`Kind::LineEnd`] at the end of the line without
    /// reading past it.
    pub fn next(&mut self, names: &mut Names, in_directive: bool) -> Lexeme {
        let blank = self.blank(in_directive);
        let mut lexeme = Lexeme {
            kind: Kind::End,
            text: names.get(""),
            span: blank.comment.unwrap_or_else(|| self.place()),
            spaced: blank.spaced,
            first: self.first,
            broken: blank.broken,
            expandable: true,
        };
        if blank.comment.is_some() {
            lexeme.kind = Kind::Flaw(Flaw::Comment);
            return lexeme;
        }
        let Some(start) = self.peek() else { return lexeme };
        if start == b'\n' {
            lexeme.kind = Kind::LineEnd;
            return lexeme;
        }
        self.first = false;
        let from = self.position;
        if is_word(start) {
            let mut to = from;
            while self.peek().is_some_and(is_word) {
                self.bump();
                to = self.position;
                lexeme.span.end = (self.line, self.column);
            }
            lexeme.kind = if start.is_ascii_digit() { Kind::Number } else { Kind::Word };
            let text = &self.text[from..to];
            lexeme.text = match text.contains('\\') {
                true => names.get(&text.replace(['\\', ' ', '\t', '\r', '\n'], "")),
                false => names.get(text),
            };
            return lexeme;
        }
        if start == b'"' {
            let (text, closed) = self.string(in_directive);
            lexeme.kind = if closed { Kind::Text } else { Kind::Flaw(Flaw::Text) };
            lexeme.text = names.get(&text);
            lexeme.span.end = (self.line, self.column);
            return lexeme;
        }
        let rest = &self.text[from..];
        let (kind, length) = if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (Kind::Symbol, symbol.len())
        } else if CHARACTERS.contains(&start) {
            (Kind::Symbol, 1)
        } else {
            (Kind::Flaw(Flaw::Character), rest.chars().next().map_or(1, char::len_utf8))
        };
        lexeme.kind = kind;
        lexeme.text = names.get(&rest[..length]);
        for _ in 0..length {
            self.bump();
        }
        lexeme.span.end = (self.line, self.column);
        lexeme
    }

    /// Reads the remaining lexemes of a directive, up to the end of the line, which stays unread.
    pub fn line(&mut self, names: &mut Names) -> Vec<Lexeme> {
        let mut line = Vec::new();
        loop {
            let lexeme = self.next(names, true);
            if matches!(lexeme.kind, Kind::LineEnd | Kind::End) {
                return line;
            }
            line.push(lexeme);
        }
    }

    /// Skips a line, and the rest of each comment that begins in it.
    pub fn skip_line(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'"' {
                self.string(true);
            } else if matches!(byte, b'\n' | b'/') {
                let blank = self.blank(true);
                if self.peek() == Some(b'\n') {
                    self.bump();
                    self.first = true;
                    return;
                }
                if !blank.spaced {
                    self.bump();
                }
            } else {
                self.bump();
            }
        }
    }

    /// Skips white space and comments, then reads `#` at the start of a line. Returns the position
    /// of `#`; `None` if another token follows.
    pub fn hash(&mut self) -> Option<Span> {
        self.blank(false);
        let start = self.place();
        if self.peek() != Some(b'#') || !self.first {
            return None;
        }
        self.bump();
        self.first = false;
        Some(start.to(self.place()))
    }

    /// Returns true at the end of the text.
    pub fn is_at_end(&self) -> bool {
        self.position == self.text.len()
    }

    /// Reads `word` if it follows immediately. Returns true if it does.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let rest = &self.text.as_bytes()[self.position..];
        let follows = rest.starts_with(word.as_bytes())
            && !rest.get(word.len()).copied().is_some_and(is_word);
        if follows {
            for _ in 0..word.len() {
                self.bump();
            }
        }
        follows
    }

    /// Reads `"name"` or `<name>` after `#include`. Returns the name, true for quotes, and the
    /// position.
    pub fn header_name(&mut self) -> Option<(String, bool, Span)> {
        self.blank(true);
        let mut span = self.place();
        let open = self.peek()?;
        let close = match open {
            b'"' => '"',
            b'<' => '>',
            _ => return None,
        };
        let rest = &self.text[self.position + 1..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let name = line[..line.find(close)?].to_string();
        for _ in 0..name.len() + 2 {
            self.bump();
        }
        span.end = (self.line, self.column);
        Some((name, open == b'"', span))
    }

    /// Returns the unread text up to the end of the line, without surrounding spaces.
    pub fn rest_of_line(&self) -> &str {
        let rest = &self.text[self.position..];
        rest.split('\n').next().unwrap_or(rest).trim()
    }

    /// Skips white space and comments. In a directive, stops at the end of the line.
    fn blank(&mut self, in_directive: bool) -> Blank {
        let mut blank = Blank::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' if in_directive => break,
                b'\n' => {
                    self.first = true;
                    blank.broken = true;
                    self.bump();
                }
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => self.bump(),
                b'/' => match self.text.as_bytes().get(self.position + 1) {
                    Some(b'/') => {
                        while self.peek().is_some_and(|byte| byte != b'\n') {
                            self.bump();
                        }
                    }
                    Some(b'*') => {
                        let span = self.place();
                        let start = self.line;
                        self.bump();
                        self.bump();
                        let rest = &self.text[self.position..];
                        let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                        let closed = length > 0 && rest[..length].ends_with("*/");
                        for _ in 0..length {
                            self.bump();
                        }
                        blank.broken |= self.line > start;
                        if !closed {
                            blank.comment = Some(span);
                            break;
                        }
                    }
                    _ => break,
                },
                _ => break,
            }
            blank.spaced = true;
        }
        blank
    }

    /// Reads a string literal. Returns its content, and false if the closing quote is missing. In a
    /// directive, the string ends with the line at the latest.
    fn string(&mut self, in_directive: bool) -> (String, bool) {
        self.bump();
        let mut text = String::new();
        let mut from = self.position;
        loop {
            let byte = self.text.as_bytes().get(self.position).copied();
            match byte {
                Some(b'"') => {
                    text.push_str(&self.text[from..self.position]);
                    self.bump();
                    return (text, true);
                }
                Some(b'\n') if !in_directive => self.bump(),
                None | Some(b'\n') => {
                    text.push_str(&self.text[from..self.position]);
                    return (text, false);
                }
                Some(b'\\') => {
                    text.push_str(&self.text[from..self.position]);
                    let position = self.position;
                    if self.skip_splices() {
                        from = self.position;
                        continue;
                    }
                    self.bump();
                    from = position;
                    let escaped = self.text.as_bytes().get(self.position).copied();
                    let Some(escaped @ (b'"' | b'\\' | b'n')) = escaped else { continue };
                    text.push(if escaped == b'n' { '\n' } else { escaped as char });
                    self.bump();
                    from = self.position;
                }
                Some(_) => self.bump(),
            }
        }
    }

    /// Returns the next byte, after line continuations (backslashes at ends of lines).
    fn peek(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.position).copied();
        if byte == Some(b'\\') && self.skip_splices() {
            return self.text.as_bytes().get(self.position).copied();
        }
        byte
    }

    /// Skips line continuations: backslashes at ends of lines, with the line ends. Returns true if
    /// there was one.
    fn skip_splices(&mut self) -> bool {
        let mut skipped = false;
        loop {
            let rest = &self.text.as_bytes()[self.position..];
            let Some(b'\\') = rest.first() else { return skipped };
            let spaces = rest[1..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
            if rest.get(1 + spaces) != Some(&b'\n') {
                return skipped;
            }
            for _ in 0..spaces + 2 {
                self.bump();
            }
            skipped = true;
        }
    }

    /// Advances by one byte, and updates line and column.
    fn bump(&mut self) {
        match self.text.as_bytes().get(self.position) {
            None => return,
            Some(b'\n') => {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            }
            Some(byte) if byte & 0xc0 == 0x80 => {}
            Some(_) => self.column = self.column.saturating_add(1),
        }
        self.position += 1;
    }
}

/// Properties of the white space and comments before a token.
#[derive(Default)]
struct Blank {
    spaced: bool,
    broken: bool,
    /// Position of a comment without `*/`.
    comment: Option<Span>,
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Returns true for a valid P4 number: an optional width with `w` or `s`, an optional base, digits.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = match text.find(['w', 's', 'W', 'S']) {
        Some(at) if text[..at].bytes().all(|b| b.is_ascii_digit()) => {
            if at == 0 || text.as_bytes()[at].is_ascii_uppercase() {
                return false;
            }
            &text[at + 1..]
        }
        _ => text,
    };
    let (digits, base) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'o' | b'O', ..] => (&digits[2..], 8),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', b'd' | b'D', ..] => (&digits[2..], 10),
        _ => (digits, 10),
    };
    digits.chars().all(|c| c == '_' || c.is_digit(base)) && digits.chars().any(|c| c != '_')
}

#[cfg(test)]
mod tests;
