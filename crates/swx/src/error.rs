//! Errors about faults in `.spec` files.

use std::fmt;

use slowpath_codes::Code;
use thiserror::Error;

use crate::spec::Line;

/// A fault in a `.spec` file. `Display` prints `line N: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {}: {message}", line.0)]
pub struct SpecError {
    /// Error code of the cause.
    pub code: Code,
    /// Line of the fault.
    pub line: Line,
    /// Message of one line: the construct, the fault, and how to correct it.
    pub message: String,
}

impl SpecError {
    /// Creates an error about a line of a `.spec` file.
    pub fn new(code: Code, line: Line, message: impl fmt::Display) -> SpecError {
        SpecError { code, line, message: message.to_string() }
    }
}
