//! Why a program has no guarantee.

use crate::refusal::Refusal;
use slowpath_exec::concrete::ConcreteError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use slowpath_stop::{Reason, Stop};
use slowpath_target::TargetError;
use std::any::Any;
use thiserror::Error;

/// An error, in one line for the user.
#[derive(Debug, Error)]
pub enum Error {
    /// The file is none that a front end reads.
    #[error("{0}")]
    Input(String),
    /// The device cannot run the program.
    #[error("{text}")]
    Refused {
        /// The first reason, and another way.
        text: String,
        /// All reasons.
        refusals: Vec<Refusal>,
    },
    /// The target or its prices.
    #[error("{place}{error}{hint}")]
    Target {
        /// Where in the program, if anywhere.
        place: String,
        /// What is wrong.
        error: TargetError,
        /// What else may help.
        hint: String,
    },
    /// The analysis.
    #[error("{place}{error}{hint}")]
    Search {
        /// Where in the program, if anywhere.
        place: String,
        /// What is wrong.
        error: SearchError,
        /// What else may help.
        hint: String,
    },
    /// The solver.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// An option that is wrong for this program.
    #[error("{0}")]
    Option(String),
    /// Stopped before there was a first bound.
    #[error("{reason} while {stage}: there is no bound yet")]
    Stopped {
        /// Why.
        reason: Reason,
        /// What was being done, such as `unrolling the program`.
        stage: &'static str,
    },
    /// A defect here.
    #[error("internal error: {0}; please report it")]
    Panic(String),
    /// The replay of a witness failed: a defect here, and no result.
    #[error("internal error: the witness does not replay: {0}")]
    Replay(String),
}

impl Error {
    /// All that the device lacks, if that is the error.
    pub fn refusals(&self) -> &[Refusal] {
        match self {
            Error::Refused { refusals, .. } => refusals,
            _ => &[],
        }
    }

    /// It was time to stop, in what `stop` says is being done.
    pub(crate) fn stopped(reason: Reason, stop: &Stop) -> Self {
        Error::Stopped { reason, stage: stop.stage() }
    }

    /// What a panic said.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no description".to_owned());
        Error::Panic(text.lines().next().unwrap_or_default().to_owned())
    }
}

impl Error {
    /// Whether the options are wrong, whatever the program.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Option(_)
                | Error::Target {
                    error: TargetError::Cores { .. } | TargetError::NoCores { .. },
                    ..
                }
        )
    }
}

impl From<TargetError> for Error {
    fn from(error: TargetError) -> Self {
        Error::Target { place: String::new(), error, hint: String::new() }
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        Error::Search { place: String::new(), error, hint: String::new() }
    }
}

impl From<ConcreteError> for Error {
    fn from(error: ConcreteError) -> Self {
        match error {
            // The program's doing: no condition on the path asks for that memory.
            ConcreteError::Stray { .. } => Error::Input(error.to_string()),
            ConcreteError::Cleared { .. } | ConcreteError::TooLong(_) => {
                Error::Replay(error.to_string())
            }
        }
    }
}
