//! Why a program is not compiled for the card.

use super::refusal::{Refusal, Refusals};
use slowpath_bpf::lift::LiftError;
use slowpath_stop::Reason;
use thiserror::Error;

/// A program that the card cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// The program has no meaning that could be compiled.
    #[error("{0}")]
    Lift(LiftError),
    /// It was time to stop.
    #[error("{0} before the program was compiled for the card")]
    Stopped(Reason),
    /// The card has not what the program needs.
    #[error("{0}")]
    Refused(Refusals),
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
    pub(super) fn program(what: impl Into<String>, hint: impl Into<String>) -> Self {
        CompileError::Refused(Refusals::one(Refusal::of_program(what, hint)))
    }
}
