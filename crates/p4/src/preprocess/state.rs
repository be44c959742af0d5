//! State of the preprocessor: open files, conditions and macros.

use std::cell::Cell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use crate::lexer::{Lexeme, Lexer};
use crate::token::Span;

/// A file that is being read.
pub(super) struct Frame {
    pub lexer: Lexer,
    /// Index of the file; `#line` does not change it.
    pub number: u32,
    /// Folder to search for `#include "…"`; `None` for standard headers.
    pub folder: Option<PathBuf>,
    /// Conditional sections whose `#endif` has not been read.
    pub conditions: Vec<Condition>,
}

/// Origin of a file, by which the preprocessor recognises files that it has already read.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A file from disk, by its path.
    Read(PathBuf),
    /// A standard header, by its name.
    Standard(&'static str),
    /// A file that was not read but is named in a `#line` directive, by its path.
    Shown(PathBuf),
}

/// A conditional section, from `#if` to `#endif`.
pub(super) struct Condition {
    /// Source position of `#if`.
    pub span: Span,
    /// True if one of the branches has already been read.
    pub taken: bool,
    /// True once `#else` was read.
    pub has_else: bool,
}

impl Frame {
    pub fn new(lexer: Lexer, number: u32, folder: Option<PathBuf>) -> Frame {
        Frame { lexer, number, folder, conditions: Vec::new() }
    }
}

/// Definition of a macro.
pub(super) struct Macro {
    /// Parameters; `None` for a macro without parentheses.
    pub params: Option<Vec<Rc<str>>>,
    /// True if the last parameter receives all further arguments.
    pub is_variadic: bool,
    pub body: Vec<Lexeme>,
    /// True while the preprocessor reads the replacement; the macro is then not replaced again.
    pub is_active: Cell<bool>,
}

/// A list of lexemes that the preprocessor reads before it continues with the file.
pub(super) struct Context {
    pub lexemes: Vec<Lexeme>,
    pub position: usize,
    /// The macro that the list replaces. `None` for a list that is expanded separately: reading
    /// stops at its end.
    pub replaced: Option<Rc<Macro>>,
}

/// Removes the components `.` from a path, so that different spellings of a path become equal.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}
