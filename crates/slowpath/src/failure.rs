//! Describes errors as data, for callers that react to errors or show parts of them.

use crate::Error;
use serde::Serialize;
use slowpath_bpf::ObjectError;
use slowpath_search::SearchError;
use slowpath_target::TargetError;

/// The party that has to act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Kind"))]
pub enum ErrorKind {
    /// The user has to act: the program, or the file that contains it, is wrong.
    Input,
    /// The device cannot run the program.
    Refused,
    /// The user has to act: an option has an invalid value.
    Option,
    /// The user has to act: the file that an option names cannot be used.
    OptionFile,
    /// This machine lacks something, such as a privilege.
    Unavailable,
    /// Nobody has to act: the work was stopped.
    Stopped,
    /// The developers of slowpath have to act: the code has a defect.
    Defect,
}

/// An error as data, for callers that react to it. Unknown fields are null.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure {
    /// Code of the error's cause, such as `SP0301`, which `slowpath explain` describes.
    pub code: String,
    /// Kind of the error, which says who has to act on it.
    pub kind: ErrorKind,
    /// Description of the error. If `option` is set, the description contains neither the option
    /// nor the line.
    pub what: String,
    /// The option that names an unusable file, such as `--maps`; null for other errors.
    pub option: Option<&'static str>,
    /// Number of the wrong line in the option's file, or in a listing.
    pub line: Option<u64>,
    /// Section of the object in which the error is.
    pub section: Option<String>,
    /// Number of the instruction to which the error belongs, as in reports.
    pub instruction: Option<u64>,
    /// Reason for stopping: `deadline`, `interrupted`, `memory limit`; null if the work was not
    /// stopped.
    pub stopped: Option<String>,
}

impl Failure {
    /// Converts an error to data.
    pub fn of(error: &Error) -> Failure {
        let plain = Failure {
            code: error.code().to_string(),
            kind: ErrorKind::Input,
            what: error.to_string(),
            option: None,
            line: None,
            section: None,
            instruction: None,
            stopped: None,
        };
        match error {
            Error::Input(..) | Error::Solver(_) => plain,
            Error::Object(ObjectError::Instruction { section, insn, .. }) => {
                let (section, instruction) = (Some(section.clone()), Some(*insn as u64));
                Failure { section, instruction, ..plain }
            }
            Error::Object(ObjectError::Section { section, .. }) => {
                Failure { section: Some(section.clone()), ..plain }
            }
            Error::Object(_) => plain,
            Error::Lift(error) => {
                Failure { instruction: error.insn.map(|insn| insn as u64), ..plain }
            }
            Error::Listing(error) => Failure { line: Some(error.line.into()), ..plain },
            Error::ListingLift(slowpath_nfp::LiftError::Instruction { insn, line, .. }) => {
                let (line, instruction) = (Some((*line).into()), Some((*insn).into()));
                Failure { line, instruction, ..plain }
            }
            Error::ListingLift(_) => plain,
            Error::Pipeline(error) => Failure { line: Some(error.line.0.into()), ..plain },
            Error::Refused { refusals, .. } => {
                let first = refusals.first().and_then(|refusal| refusal.instruction);
                let instruction = first.map(|insn| insn as u64);
                Failure { kind: ErrorKind::Refused, instruction, ..plain }
            }
            Error::Target { error, .. } => match error {
                TargetError::Cores { .. } | TargetError::NoCores { .. } => {
                    Failure { kind: ErrorKind::Option, ..plain }
                }
                TargetError::Malformed { .. } | TargetError::Unpriced { .. } => plain,
            },
            Error::Search { error: SearchError::Internal(_), .. } => {
                Failure { kind: ErrorKind::Defect, ..plain }
            }
            Error::Search { error, .. } => {
                Failure { instruction: error.location().map(u64::from), ..plain }
            }
            Error::Option(..) => Failure { kind: ErrorKind::Option, ..plain },
            Error::OptionFile { option, line, what, .. } => Failure {
                kind: ErrorKind::OptionFile,
                what: what.clone(),
                option: Some(option),
                line: line.map(|line| line as u64),
                ..plain
            },
            Error::Stopped { reason, .. } => {
                Failure { kind: ErrorKind::Stopped, stopped: Some(reason.to_string()), ..plain }
            }
            Error::Unavailable(..) => Failure { kind: ErrorKind::Unavailable, ..plain },
            Error::Panic(_) | Error::Replay(_) | Error::Disagreement(_) => {
                Failure { kind: ErrorKind::Defect, ..plain }
            }
        }
    }
}
