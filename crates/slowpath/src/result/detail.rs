//! Data that only human reports show; not part of the documents of `docs/json.md`. Python has the
//! same types, and `schema.rs` generates their description.

use crate::failure::Failure;
use serde::Serialize;

/// Data of the human report in addition to the result.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Detail {
    pub paths: Vec<PathDetail>,
    /// The program's instructions.
    pub code: Vec<CodeInsn>,
    /// Details of the error, if there is one.
    pub failure: Option<Failure>,
    /// Limits of `--unroll` that match no code of the program, as the user wrote them.
    pub unmatched: Vec<String>,
}

/// A path for the human report.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathDetail {
    /// First and last instruction of each stretch without a taken branch.
    pub ranges: Vec<(u32, u32)>,
    /// Number of the exit.
    pub exit: u32,
    /// Numbers and texts of the executed instructions.
    pub listing: Vec<(u32, String)>,
    /// The path as source lines; empty if none is known.
    pub stretches: Vec<Stretch>,
}

/// An instruction of a listing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
pub(crate) struct CodeInsn {
    /// Number of the instruction.
    pub instruction: u32,
    /// Text of the instruction.
    pub text: String,
    /// Source line of the instruction; null if not known.
    pub source: Option<CodeLine>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Line"))]
pub(crate) struct CodeLine {
    /// File name, from the debug information.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// Text of the line; empty if the object does not contain it.
    pub text: String,
}

/// Consecutively executed instructions of one source line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stretch {
    /// Index into the lines of the path; absent if the line is not known.
    pub line: Option<usize>,
    /// Number of the first instruction.
    pub first: u32,
    /// Number of the last instruction.
    pub last: u32,
    /// Number of instructions.
    pub instructions: u64,
}
