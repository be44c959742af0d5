//! The error that is returned if a program cannot be rewritten.

use slowpath_bpf::BpfProgram;
use thiserror::Error;

/// Reason why a program cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("program {program}, {place}: {what}")]
pub struct SpecialiseError {
    /// Name of the program.
    pub program: String,
    /// Section, instruction and source line of the problem.
    pub place: String,
    /// Description of the problem.
    pub what: String,
}

impl SpecialiseError {
    /// Creates the error for a slot of a program.
    pub(crate) fn at(program: &BpfProgram, slot: usize, what: impl Into<String>) -> Self {
        let (program, place) = (program.name.clone(), program.place_text(slot));
        SpecialiseError { program, place, what: what.into() }
    }
}
