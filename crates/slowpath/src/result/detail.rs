//! What only reports for people show of an analysis: no part of the documents of `docs/json.md`. Python
//! has the same types; `schema.rs` says what they are.

use crate::failure::Failure;
use serde::Serialize;

/// What the human report shows besides the result.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Detail {
    pub paths: Vec<PathDetail>,
    /// The program's instructions.
    pub code: Vec<CodeInsn>,
    /// What is known of the error, if there is one.
    pub failure: Option<Failure>,
    /// Limits of `--unroll` that the program has no code for, as they were given.
    pub unmatched: Vec<String>,
}

/// A path for the human report.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathDetail {
    /// First and last instruction of each stretch without a taken branch.
    pub ranges: Vec<(u32, u32)>,
    /// The number of the exit.
    pub exit: u32,
    /// The text of the instructions executed, with their numbers.
    pub listing: Vec<(u32, String)>,
    /// The path as source lines; empty when none is known.
    pub stretches: Vec<Stretch>,
}

/// An instruction of the program, on the path or not.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CodeInsn {
    pub instruction: u32,
    pub text: String,
    pub source: Option<CodeLine>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CodeLine {
    pub file: String,
    pub line: u32,
    /// Empty when the object does not have it.
    pub text: String,
}

/// Instructions of one source line that are executed one after the other.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stretch {
    /// Index into the lines of the path; absent when the line is not known.
    pub line: Option<usize>,
    /// Number of the first instruction.
    pub first: u32,
    /// Number of the last instruction.
    pub last: u32,
    /// How many there are.
    pub instructions: u64,
}
