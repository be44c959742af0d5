//! Defines the error that is returned if a program cannot be rewritten.

use slowpath_bpf::BpfProgram;
use slowpath_codes as codes;
use thiserror::Error;

/// The reason why a program cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("program {program}, {place}: {what}")]
pub struct SpecialiseError {
    /// Name of the program.
    pub program: String,
    /// Section, instruction and source line at which the problem occurs.
    pub place: String,
    /// Description of the problem, in words.
    pub what: String,
}

impl SpecialiseError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        codes::NOT_REWRITABLE
    }

    /// Creates an error about the instruction in a slot of the program.
    pub(crate) fn at(program: &BpfProgram, slot: usize, what: impl Into<String>) -> Self {
        let (program, place) = (program.name.clone(), program.place_text(slot));
        SpecialiseError { program, place, what: what.into() }
    }
}
