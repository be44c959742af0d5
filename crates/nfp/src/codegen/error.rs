//! Errors that occur when a program is compiled for the SmartNIC.

use super::refusal::{Refusal, Refusals};
use slowpath_bpf::lift::LiftError;
use slowpath_codes as codes;
use slowpath_stop::Reason;
use thiserror::Error;

/// Reason why a program was not compiled for the SmartNIC.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The BPF program cannot be translated to the intermediate representation for its analysis.
    #[error("{0}")]
    Lift(LiftError),
    /// The compilation was stopped early, for example by a deadline.
    #[error("{0} before the program was compiled for the card")]
    Stopped(Reason),
    /// The program needs features that the SmartNIC does not have.
    #[error("{0}")]
    Refused(Box<Refusals>),
}

impl CompileError {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            CompileError::Lift(error) => error.code(),
            CompileError::Stopped(reason) => reason.code(),
            CompileError::Refused(refusals) => refusals.code(),
        }
    }
}

impl From<LiftError> for CompileError {
    fn from(error: LiftError) -> Self {
        match error.stopped {
            Some(reason) => CompileError::Stopped(reason),
            None => CompileError::Lift(error),
        }
    }
}

impl From<Reason> for CompileError {
    fn from(reason: Reason) -> Self {
        CompileError::Stopped(reason)
    }
}

impl CompileError {
    pub(super) fn program(
        code: codes::Code,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        CompileError::Refused(Box::new(Refusals::one(Refusal::of_program(code, what, hint))))
    }
}
