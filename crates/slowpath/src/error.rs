//! The errors of the analysis. Each is a reason why a program has no guarantee.

use crate::refusal::Refusal;
use slowpath_bpf::ObjectError;
use slowpath_bpf::lift::LiftError;
use slowpath_exec::concrete::ConcreteError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use slowpath_stop::{Reason, Stop};
use slowpath_target::TargetError;
use thiserror::Error;

/// An error, shown to the user in one line.
#[derive(Debug, Error)]
pub enum Error {
    /// An input that cannot be analysed, such as a file that no front end reads.
    #[error("{0}")]
    Input(String),
    /// An object, or one program of it, that cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A program of an object that cannot be translated for the analysis.
    #[error(transparent)]
    Lift(LiftError),
    /// A listing that cannot be read.
    #[error(transparent)]
    Listing(#[from] slowpath_nfp::ParseError),
    /// A listing that cannot be translated for the analysis.
    #[error(transparent)]
    ListingLift(#[from] slowpath_nfp::LiftError),
    /// A program that the device cannot run.
    #[error("{text}")]
    Refused {
        /// The first reason, and an alternative for the user.
        text: String,
        /// All reasons.
        refusals: Vec<Refusal>,
    },
    /// An error in the target or its prices.
    #[error("{place}{error}{hint}")]
    Target {
        /// Location in the program; empty if there is none.
        place: String,
        /// The error of the target.
        error: TargetError,
        /// Advice for the user; may be empty.
        hint: String,
    },
    /// An error of the search.
    #[error("{place}{error}{hint}")]
    Search {
        /// Location in the program; empty if there is none.
        place: String,
        /// The error of the search.
        error: SearchError,
        /// Advice for the user; may be empty.
        hint: String,
    },
    /// An error of the solver.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// An option that is wrong for this program.
    #[error("{0}")]
    Option(String),
    /// A file named by an option that cannot be used.
    #[error("{option}{}: {what}", line_text(*.line))]
    OptionFile {
        /// The option.
        option: &'static str,
        /// The line in the file, if the error belongs to one.
        line: Option<usize>,
        /// Description of the error.
        what: String,
    },
    /// An analysis that was stopped before it had a first bound.
    #[error("{reason} while {stage}: there is no bound yet")]
    Stopped {
        /// Reason for stopping.
        reason: Reason,
        /// Stage at that time, such as `unrolling the program`.
        stage: &'static str,
    },
    /// A request that this machine does not support: a kernel feature or a privilege is missing.
    #[error("{0}")]
    Unavailable(String),
    /// A defect of slowpath.
    #[error("internal error: {0}; please report it")]
    Panic(String),
    /// A difference between the running kernel and the model of it: a defect of slowpath, without a
    /// result.
    #[error("{0}")]
    Disagreement(String),
    /// A witness whose replay failed: a defect of slowpath, without a result.
    #[error("internal error: the witness does not replay: {0}")]
    Replay(String),
}

impl Error {
    /// Returns all reasons why the device cannot run the program. The list is empty for all other
    /// errors.
    pub fn refusals(&self) -> &[Refusal] {
        match self {
            Error::Refused { refusals, .. } => refusals,
            _ => &[],
        }
    }

    /// Converts an error in a description of a target or in an assumption file. The result names
    /// the `option` with which the user chose the file.
    pub(crate) fn in_file_of(option: &'static str, error: TargetError) -> Self {
        match error.place() {
            Some((line, what)) => Error::OptionFile { option, line: Some(line), what },
            None => error.into(),
        }
    }

    /// Creates the error for an analysis that is stopped in its current stage.
    pub(crate) fn stopped(reason: Reason, stop: &Stop) -> Self {
        Error::Stopped { reason, stage: stop.stage() }
    }
}

fn line_text(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

impl From<LiftError> for Error {
    fn from(error: LiftError) -> Self {
        match error.is_about_content {
            true => Error::OptionFile { option: "--maps", line: None, what: error.to_string() },
            false => Error::Lift(error),
        }
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
            // The program accesses this memory: no condition on the path excludes the access.
            ConcreteError::Stray { .. } => Error::Input(error.to_string()),
            ConcreteError::Cleared { .. } | ConcreteError::TooLong(_) => {
                Error::Replay(error.to_string())
            }
        }
    }
}
