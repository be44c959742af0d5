//! Tokens of P4_16 sources, and their places.

use std::path::PathBuf;
use std::rc::Rc;

/// A place in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Number of the file in [`Sources`].
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Line and column after the last character.
    pub end: (u32, u32),
}

impl Span {
    /// Returns the place from the start of `self` to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        if last.file == self.file { Span { end: last.end.max(self.end), ..self } } else { self }
    }
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An identifier or keyword.
    Word,
    /// An integer literal, with its width and base as written: `8w0x1F`, `4s-3` has no sign here.
    Number,
    /// A string literal; the text has no quotes, and escapes `\"`, `\\` and `\n` are resolved.
    Text,
    /// An operator or punctuation character.
    Symbol,
    /// The end of the program, with empty text.
    End,
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// Text of the token.
    pub text: Rc<str>,
    /// Place in the source. Tokens of a macro have the place of the macro's use.
    pub span: Span,
}

impl Token {
    /// Returns true for a symbol or word with this text.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, TokenKind::Symbol | TokenKind::Word) && &*self.text == text
    }
}

/// A source file that was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path as it is shown to users; a standard header has its name: `core.p4`.
    pub path: PathBuf,
    /// Content.
    pub text: Rc<str>,
    /// True for the standard architecture headers that this crate contains.
    pub is_standard: bool,
    /// Place of the first `#include` of the file; none for the program.
    pub included_at: Option<Span>,
}

/// All files of a program, by number.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Files in the order in which they were first read; the program is file 0.
    pub files: Vec<SourceFile>,
}

impl Sources {
    /// Returns the line of a file that a place comes from: its own, or that of the `#include` that
    /// leads to it.
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
