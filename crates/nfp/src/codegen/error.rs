//! Why the card cannot run a program: one line with the place, the cause and a way out.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::lift::LiftError;
use thiserror::Error;

/// A program that the card cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The program has no meaning that could be compiled.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// The card has not what an instruction needs.
    #[error("{place}: {what}; {hint}")]
    Instruction {
        /// Slot of the instruction in the linked program.
        slot: usize,
        /// Section, instruction and source line.
        place: String,
        /// What is missing.
        what: String,
        /// What may help.
        hint: String,
    },
    /// The program as a whole does not fit.
    #[error("{what}; {hint}")]
    Program {
        /// What does not fit.
        what: String,
        /// What may help.
        hint: String,
    },
}

impl CompileError {
    pub(super) fn program(what: impl Into<String>, hint: impl Into<String>) -> Self {
        CompileError::Program { what: what.into(), hint: hint.into() }
    }

    pub(super) fn at(program: &BpfProgram, slot: usize, cause: Cause) -> Self {
        let place = program.place_text(slot);
        let Cause { what, hint } = cause;
        CompileError::Instruction { slot, place, what, hint }
    }
}

/// What is wrong with an instruction.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    what: String,
    hint: String,
}

impl Cause {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Cause { what: what.into(), hint: hint.into() }
    }
}
