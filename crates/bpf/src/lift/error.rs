//! Why a program cannot be lifted: one line with the place, the cause and a way out.

use slowpath_stop::Reason;
use thiserror::Error;

use crate::BpfProgram;

/// A program that the engine cannot be asked about.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}{what}; {hint}")]
pub struct LiftError {
    /// Section, instruction and source line, with a colon behind; empty if it is no instruction's
    /// fault.
    place: String,
    /// Slot of the instruction in the linked program.
    pub insn: Option<usize>,
    /// Whether what is known of the content of maps does not fit them, and nothing is wrong with the
    /// program.
    pub is_about_content: bool,
    /// Why lifting was given up before it was done, if it was.
    pub stopped: Option<Reason>,
    what: String,
    hint: String,
}

impl LiftError {
    /// It is time to give up.
    pub(super) fn stop(reason: Reason) -> Self {
        let what = format!("{reason} before the program was understood");
        LiftError { stopped: Some(reason), ..LiftError::program(what, "give it more") }
    }

    /// An error that no single instruction is to blame for.
    pub(super) fn program(what: impl Into<String>, hint: impl Into<String>) -> Self {
        LiftError {
            place: String::new(),
            insn: None,
            is_about_content: false,
            stopped: None,
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// An error of what is known of the content of maps.
    pub(super) fn content(what: impl Into<String>, hint: impl Into<String>) -> Self {
        LiftError { is_about_content: true, ..LiftError::program(what, hint) }
    }

    /// An error at a slot of a program.
    pub(super) fn at(program: &BpfProgram, slot: usize, cause: Cause) -> Self {
        let place = format!("{}: ", program.place_text(slot));
        LiftError { place, insn: Some(slot), ..LiftError::program(cause.what, cause.hint) }
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

/// Hint for what the kernel's verifier refuses wherever it follows a path to the instruction. Only
/// for what `tests/rejections.rs` of the kernel's crate loads, or for what no kernel source takes.
pub(super) const VERIFIER: &str = "the kernel's verifier refuses programs that reach this";

/// Hint for what cannot happen.
pub(super) const INTERNAL: &str = "this is a defect of slowpath: please report it";
