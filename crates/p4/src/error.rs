//! Faults in P4 programs.

use std::fmt;

use slowpath_codes as codes;

use crate::token::{Sources, Span};

/// A fault in a P4 program: its place, and a message with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P4Error {
    /// Code of the cause.
    pub code: codes::Code,
    /// Place of the fault.
    pub span: Span,
    /// One line: the fault, and what to do.
    pub message: String,
}

impl P4Error {
    /// Makes an error of the program.
    pub fn new(code: codes::Code, span: Span, message: impl fmt::Display) -> P4Error {
        P4Error { code, span, message: message.to_string() }
    }

    /// Makes an error of a construct that this crate does not support yet.
    pub fn unsupported(span: Span, message: impl fmt::Display) -> P4Error {
        P4Error::new(codes::P4_UNSUPPORTED, span, message)
    }

    /// Returns the message after `file, line, column`.
    pub fn render(&self, sources: &Sources) -> String {
        let Span { file, line, column, .. } = self.span;
        match sources.files.get(file as usize) {
            Some(file) => {
                format!("{}:{line}:{column}: {}", file.path.display(), self.message)
            }
            None => self.message.clone(),
        }
    }
}
