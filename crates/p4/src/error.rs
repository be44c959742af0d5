//! Errors about faults in P4 programs.

use std::fmt;

use slowpath_codes as codes;

use crate::token::{Sources, Span};

/// An error in a P4 program: its position, and a message that says how to correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P4Error {
    /// Error code of the cause.
    pub code: codes::Code,
    /// Source position of the fault.
    pub span: Span,
    /// Message of one line: the fault, and how to correct it.
    pub message: String,
}

impl P4Error {
    /// Creates an error about a fault in the program.
    pub fn new(code: codes::Code, span: Span, message: impl fmt::Display) -> P4Error {
        P4Error { code, span, message: message.to_string() }
    }

    /// Creates an error about a construct that this crate does not support yet.
    pub fn unsupported(span: Span, message: impl fmt::Display) -> P4Error {
        P4Error::new(codes::P4_UNSUPPORTED, span, message)
    }

    /// Returns the message, preceded by file name, line and column of the error.
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
