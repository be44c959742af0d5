//! Files, conditions and macros that are being read.

use std::cell::Cell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use crate::lexer::{Lexeme, Lexer};
use crate::token::Span;

/// A file that is being read.
pub(super) struct Frame {
    pub lexer: Lexer,
    /// Number of the file, also after `#line`.
    pub number: u32,
    /// Folder to search for `#include "…"`; absent for standard headers.
    pub folder: Option<PathBuf>,
    /// Conditions without `#endif` so far.
    pub conditions: Vec<Condition>,
}

/// Origin of a file in the sources.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A file that was read.
    Read(PathBuf),
    /// A standard header.
    Standard(&'static str),
    /// A file that `#line` names.
    Shown(PathBuf),
}

/// A condition, `#if` to `#endif`.
pub(super) struct Condition {
    /// Place of `#if`.
    pub span: Span,
    /// True if the preprocessor has read one of its branches.
    pub taken: bool,
    /// True after `#else`.
    pub has_else: bool,
}

impl Frame {
    pub fn new(lexer: Lexer, number: u32, folder: Option<PathBuf>) -> Frame {
        Frame { lexer, number, folder, conditions: Vec::new() }
    }
}

/// A macro.
pub(super) struct Macro {
    /// Parameters; absent for a macro without parentheses.
    pub params: Option<Vec<Rc<str>>>,
    /// True if the last parameter takes all further arguments.
    pub is_variadic: bool,
    pub body: Vec<Lexeme>,
    /// True while the replacement is read.
    pub is_active: Cell<bool>,
}

/// A list of lexemes that is read before the file.
pub(super) struct Context {
    pub lexemes: Vec<Lexeme>,
    pub position: usize,
    /// The replaced macro. Absent for a list that is expanded alone, behind which reading stops.
    pub replaced: Option<Rc<Macro>>,
}

/// Removes `.` from a path, so that a file has one path.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}
