//! Why a program is not rewritten.

use slowpath_bpf::BpfProgram;
use thiserror::Error;

/// Why a program is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("program {program}, {place}: {what}")]
pub struct SpecialiseError {
    /// The program.
    pub program: String,
    /// Section, instruction and source line.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

impl SpecialiseError {
    /// What is wrong at a slot of a program.
    pub(crate) fn at(program: &BpfProgram, slot: usize, what: impl Into<String>) -> Self {
        let (program, place) = (program.name.clone(), program.place_text(slot));
        SpecialiseError { program, place, what: what.into() }
    }
}
