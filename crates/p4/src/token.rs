//! Tokens of P4_16 sources, and their source positions.

use std::path::PathBuf;
use std::rc::Rc;

/// A range of characters in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Index of the file in [`Sources`].
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Line and column after the last character.
    pub end: (u32, u32),
}

impl Span {
    /// Returns the range from the start of `self` to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        if last.file == self.file { Span { end: last.end.max(self.end), ..self } } else { self }
    }
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An identifier or keyword.
    Word,
    /// An integer literal with its width and base as written: `8w0x1F`. A sign is a separate token.
    Number,
    /// A string literal. The text has no quotes, and the escapes `\"`, `\\` and `\n` are replaced.
    Text,
    /// An operator or punctuation character.
    Symbol,
    /// The end of the program, with empty text.
    End,
}

/// A token with its source position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// Text of the token.
    pub text: Rc<str>,
    /// Source position. Tokens from a macro have the position of the macro's use.
    pub span: Span,
}

impl Token {
    /// Returns true for a symbol or word with this text.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Symbol | TokenKind::Word) && &*self.text == text
    }
}

/// A source file of the program.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path in messages. A standard header has its name: `core.p4`.
    pub path: PathBuf,
    /// Content.
    pub text: Rc<str>,
    /// True for the standard architecture headers that this crate embeds.
    pub is_standard: bool,
    /// Position of the first `#include` of the file; `None` for the program itself.
    pub included_at: Option<Span>,
}

/// All files of a program, by index.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Files in the order in which they were first read; the program is file 0.
    pub files: Vec<SourceFile>,
}

impl Sources {
    /// Returns the line of `file` that corresponds to a position: the line of the position itself,
    /// or the line of the `#include` through which `file` includes it. `None` if `file` does not
    /// include the position.
    pub fn line_in(&self, file: u32, mut place: Span) -> Option<u32> {
        // Each step leads to a file that was read earlier.
        for _ in 0..=self.files.len() {
            if place.file == file {
                return Some(place.line);
            }
            place = self.files.get(place.file as usize)?.included_at?;
        }
        None
    }
}
