//! Why a program has no guarantee.

use crate::refusal::Refusal;
use slowpath_bpf::ObjectError;
use slowpath_bpf::lift::LiftError;
use slowpath_exec::concrete::ConcreteError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use slowpath_stop::{Reason, Stop};
use slowpath_target::TargetError;
use thiserror::Error;

/// An error, in one line for the user.
#[derive(Debug, Error)]
pub enum Error {
    /// The file is none that a front end reads.
    #[error("{0}")]
    Input(String),
    /// The object, or one program of it, cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A program of an object has no meaning that can be analysed.
    #[error(transparent)]
    Lift(LiftError),
    /// The listing cannot be read.
    #[error(transparent)]
    Listing(#[from] slowpath_nfp::ParseError),
    /// A listing has no meaning that can be analysed.
    #[error(transparent)]
    ListingLift(#[from] slowpath_nfp::LiftError),
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
    /// The file that an option names cannot be used.
    #[error("{option}{}: {what}", line_text(*.line))]
    OptionFile {
        /// The option.
        option: &'static str,
        /// The line in the file, if it is that of one.
        line: Option<usize>,
        /// What is wrong.
        what: String,
    },
    /// Stopped before there was a first bound.
    #[error("{reason} while {stage}: there is no bound yet")]
    Stopped {
        /// Why.
        reason: Reason,
        /// What was being done, such as `unrolling the program`.
        stage: &'static str,
    },
    /// This machine does not do what is asked for: its kernel, or a privilege that is missing.
    #[error("{0}")]
    Unavailable(String),
    /// A defect here.
    #[error("internal error: {0}; please report it")]
    Panic(String),
    /// The running kernel does something else than the model of it: a defect here, and no result.
    #[error("{0}")]
    Disagreement(String),
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

    /// What is wrong with a description or assumptions in the file that an option names.
    pub(crate) fn in_file_of(option: &'static str, error: TargetError) -> Self {
        match error.place() {
            Some((line, what)) => Error::OptionFile { option, line: Some(line), what },
            None => error.into(),
        }
    }

    /// It was time to stop, in what `stop` says is being done.
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
            // The program's doing: no condition on the path asks for that memory.
            ConcreteError::Stray { .. } => Error::Input(error.to_string()),
            ConcreteError::Cleared { .. } | ConcreteError::TooLong(_) => {
                Error::Replay(error.to_string())
            }
        }
    }
}
