//! The errors that occur when programs are lifted. Each message is one line with the place, the
//! cause and a remedy.

use slowpath_codes as codes;
use slowpath_stop::Reason;
use thiserror::Error;

use crate::BpfProgram;

/// Reason why a program cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}{what}; {hint}")]
pub struct LiftError {
    /// Section, instruction and source line, followed by a colon; empty if no single instruction is
    /// at fault.
    place: String,
    /// Index of the instruction's 8-byte slot in the linked program; `None` if no single
    /// instruction is at fault.
    pub insn: Option<usize>,
    /// True if the error is about map content from the user's options that does not fit the maps.
    /// The program itself is then not at fault.
    pub is_about_content: bool,
    /// Reason why lifting stopped early, such as an exhausted budget; `None` for other errors.
    pub stopped: Option<Reason>,
    code: codes::Code,
    what: String,
    hint: String,
}

impl LiftError {
    /// Returns the code of the error's cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        self.code
    }

    /// Returns the error for an exhausted budget.
    pub(super) fn stop(reason: Reason) -> Self {
        let text = format!("{reason} before the program was translated");
        let error = LiftError::program(reason.code(), text, "raise the limit");
        LiftError { stopped: Some(reason), ..error }
    }

    /// Returns an error that concerns no single instruction.
    pub(super) fn program(
        code: codes::Code,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        LiftError {
            place: String::new(),
            insn: None,
            is_about_content: false,
            stopped: None,
            code,
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// Returns an error about map content that the user's options give.
    pub(super) fn content(
        code: codes::Code,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        LiftError { is_about_content: true, ..LiftError::program(code, what, hint) }
    }

    /// Returns an error about the instruction at a slot of a program.
    pub(super) fn at(program: &BpfProgram, slot: usize, cause: Cause) -> Self {
        let place = format!("{}: ", program.place_text(slot));
        let error = LiftError::program(cause.code, cause.what, cause.hint);
        LiftError { place, insn: Some(slot), ..error }
    }
}

/// Reason why an instruction is rejected. The place of the instruction in the program is added
/// later.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    code: codes::Code,
    what: String,
    hint: String,
}

impl Cause {
    pub fn new(code: codes::Code, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Cause { code, what: what.into(), hint: hint.into() }
    }
}

/// Hint for code that the kernel's verifier rejects on every path that reaches it. Use it only for
/// faults that `tests/rejections.rs` of the kernel crate covers, or that no kernel source accepts.
pub(super) const VERIFIER: &str = "the kernel's verifier refuses programs that reach this";

/// Hint for internal errors.
pub(super) const INTERNAL: &str = "this is a defect of slowpath; please report it with the object";
