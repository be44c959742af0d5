//! Data that only human reports show; not part of the JSON output (`docs/reference/json.md`).
//! Python has the same types, and `schema.rs` generates their description.

use crate::failure::Failure;
use crate::result::Profile;
use serde::Serialize;

/// Data that human reports show in addition to the result.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Detail {
    pub paths: Vec<PathDetail>,
    /// All instructions of the program; empty if they were not requested.
    pub code: Vec<CodeInsn>,
    /// All basic blocks of the program, in the order of their first instructions; empty if the
    /// instructions were not requested.
    pub blocks: Vec<CodeBlock>,
    /// Details of the error; null if there is none.
    pub failure: Option<Failure>,
    /// Values of the option `--unroll` that name a source line without code in the program, as the
    /// user wrote them.
    pub unmatched: Vec<String>,
}

/// Details of a path that human reports show.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathDetail {
    /// Ranges of consecutive instructions without a taken branch: the numbers of the first and the
    /// last instruction of each range.
    pub ranges: Vec<(u32, u32)>,
    /// Number that stands for the exit of the program at which the path ends.
    pub exit: u32,
    /// Numbers and texts of the instructions that the path executes, in order.
    pub listing: Vec<(u32, String)>,
    /// The path as a sequence of stretches, each of which executes instructions of one source line;
    /// empty if no source line is known.
    pub stretches: Vec<Stretch>,
    /// Branches of the path whose conditions depend on the packet or another input, in the order of
    /// their first executions; empty if the instructions were not requested.
    pub branches: Vec<PathBranch>,
    /// Breakdown of the cost of the path; null if the instructions were not requested.
    pub profile: Option<Profile>,
}

/// A branch instruction on a path, and the inputs that decide it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathBranch {
    /// Number of the branch instruction in the program.
    pub instruction: u32,
    /// Number of times that the path executes the branch.
    pub runs: u64,
    /// Number of times that the path jumps at the branch instead of continuing behind it.
    pub taken: u64,
    /// Offsets of the packet bytes that the conditions of the branch depend on, ascending.
    pub bytes: Vec<u64>,
    /// True if a condition of the branch depends on the length of the packet.
    pub length: bool,
    /// Names of the maps whose content the conditions of the branch depend on.
    pub maps: Vec<String>,
}

/// An instruction of the program, with its source line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
pub(crate) struct CodeInsn {
    /// Number of the instruction in the program.
    pub instruction: u32,
    /// Text of the instruction in assembly language.
    pub text: String,
    /// Source line of the instruction; null if not known.
    pub source: Option<CodeLine>,
}

/// A basic block of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CodeBlock"))]
pub(crate) struct CodeBlock {
    /// Number of the first instruction, which identifies the block.
    pub first: u32,
    /// Numbers of the instructions of the block, in order.
    pub instructions: Vec<u32>,
    /// First instructions of the blocks that may follow.
    pub next: Vec<u32>,
    /// True if the program may end after the block.
    pub ends: bool,
}

/// A source line of the program.
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
    /// Position of the source line in the list `lines` of the path; null if the source line is not
    /// known.
    pub line: Option<usize>,
    /// Number of the first instruction in the program.
    pub first: u32,
    /// Number of the last instruction in the program.
    pub last: u32,
    /// Number of executed instructions.
    pub instructions: u64,
}
