//! Errors of the analysis. Each of them tells the user why a program has no guarantee.

use crate::refusal::Refusal;
use slowpath_bpf::ObjectError;
use slowpath_bpf::lift::LiftError;
use slowpath_codes as codes;
use slowpath_exec::concrete::ConcreteError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use slowpath_stop::{Reason, Stop};
use slowpath_target::TargetError;
use thiserror::Error;

/// An error of an analysis, shown to the user in one line.
#[derive(Debug, Error)]
pub enum Error {
    /// The input cannot be analysed: for example, no front end reads the file.
    #[error("{1}")]
    Input(codes::Code, String),
    /// An object, or one of its programs, cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// A program of an object cannot be translated to the intermediate representation.
    #[error(transparent)]
    Lift(LiftError),
    /// An NFP listing cannot be parsed.
    #[error(transparent)]
    Listing(#[from] slowpath_nfp::ParseError),
    /// An NFP listing cannot be translated to the intermediate representation.
    #[error(transparent)]
    ListingLift(#[from] slowpath_nfp::LiftError),
    /// A pipeline of DPDK's software switch cannot be read or translated.
    #[error(transparent)]
    Pipeline(#[from] slowpath_swx::SpecError),
    /// The device cannot run the program.
    #[error("{text}")]
    Refused {
        /// The first reason why the device cannot run the program, and an alternative for the user.
        text: String,
        /// All reasons why the device cannot run the program.
        refusals: Vec<Refusal>,
    },
    /// The description of the target, or a price in it, is wrong.
    #[error("{place}{error}{hint}")]
    Target {
        /// Location in the program to which the price applies, such as a source line; empty if
        /// there is none.
        place: String,
        /// Error of the target.
        error: TargetError,
        /// Advice for the user; empty if there is none.
        hint: String,
    },
    /// The search for the slowest path failed.
    #[error("{place}{error}{hint}")]
    Search {
        /// Location in the program, such as a source line; empty if there is none.
        place: String,
        /// Error of the search.
        error: SearchError,
        /// Advice for the user; empty if there is none.
        hint: String,
    },
    /// The solver failed.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// The value of an option is wrong for this program.
    #[error("{1}")]
    Option(codes::Code, String),
    /// A file that the user named with an option cannot be used.
    #[error("{option}{}: {what}", line_text(*.line))]
    OptionFile {
        /// Code of the error's cause.
        code: codes::Code,
        /// Name of the option, such as `--maps`.
        option: &'static str,
        /// Number of the wrong line in the file; `None` if the error does not belong to one line.
        line: Option<usize>,
        /// Description of the error, without the option and the line.
        what: String,
    },
    /// The analysis was stopped before it had found any bound.
    #[error("{reason} while {stage}: there is no bound yet")]
    Stopped {
        /// Reason why the analysis was stopped.
        reason: Reason,
        /// Stage in which the analysis was stopped, such as `unrolling the program`.
        stage: &'static str,
    },
    /// This machine does not support the request, because a kernel feature or a privilege is
    /// missing.
    #[error("{1}")]
    Unavailable(codes::Code, String),
    /// The code of slowpath panicked, which is a defect.
    #[error("internal error: {0}; please report it")]
    Panic(String),
    /// The running kernel behaves differently from the model of it. This is a defect of slowpath,
    /// and there is no result.
    #[error("{0}")]
    Disagreement(String),
    /// A witness packet does not take its path when it is replayed. This is a defect of slowpath,
    /// and there is no result.
    #[error("internal error: the witness does not replay: {0}")]
    Replay(String),
}

impl Error {
    /// Returns the code of the error's cause.
    pub fn code(&self) -> codes::Code {
        match self {
            Error::Input(code, _) | Error::Option(code, _) | Error::Unavailable(code, _) => *code,
            Error::OptionFile { code, .. } => *code,
            Error::Object(error) => error.code(),
            Error::Lift(error) => error.code(),
            Error::Listing(error) => error.code(),
            Error::ListingLift(error) => error.code(),
            Error::Pipeline(error) => error.code,
            Error::Refused { refusals, .. } => {
                refusals.first().map_or(codes::CARD_NOT_UNDERSTOOD, |refusal| refusal.code)
            }
            Error::Target { error, .. } => error.code(),
            Error::Search { error, .. } => error.code(),
            Error::Solver(error) => error.code(),
            Error::Stopped { reason, .. } => reason.code(),
            Error::Panic(_) => codes::INTERNAL_ERROR,
            Error::Disagreement(_) => codes::MODEL_AND_KERNEL_DIFFER,
            Error::Replay(_) => codes::WITNESS_DOES_NOT_REPLAY,
        }
    }

    /// Returns all reasons why the device cannot run the program. The list is empty for other
    /// errors than [`Error::Refused`].
    pub fn refusals(&self) -> &[Refusal] {
        match self {
            Error::Refused { refusals, .. } => refusals,
            _ => &[],
        }
    }

    /// Converts an error in a description of a target or in an assumption file. The result names
    /// the `option` with which the user chose the file.
    pub(crate) fn in_file_of(option: &'static str, error: TargetError) -> Self {
        let assumed = option == "--assume";
        let code = if assumed { codes::ASSUMPTION_INVALID } else { error.code() };
        match error.place() {
            Some((line, what)) => Error::OptionFile { code, option, line: Some(line), what },
            None => error.into(),
        }
    }

    /// Creates the error for an analysis that is stopped, such as by a deadline; `stop` knows the
    /// current stage.
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
            true => Error::OptionFile {
                code: error.code(),
                option: "--maps",
                line: None,
                what: error.to_string(),
            },
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
            ConcreteError::Stray { .. } => Error::Input(error.code(), error.to_string()),
            ConcreteError::Cleared { .. } | ConcreteError::TooLong(_) => {
                Error::Replay(error.to_string())
            }
        }
    }
}
