//! Results as data, ready to be serialised; the format is documented in `docs/json.md`.

use crate::refusal::Refusal;
use serde::Serialize;
use serde_json::{Map, Value};

/// One entry of `results`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProgramResult {
    pub file: String,
    /// Section of the object; null for listings.
    pub section: Option<String>,
    pub program: String,
    /// Type of an object's program, as its section tells; null for listings.
    pub kind: Option<String>,
    pub target: String,
    pub metric: String,
    /// Null on targets that count.
    pub cores: Option<u32>,
    pub guarantee: Option<Bound>,
    pub naive: Option<Bound>,
    pub paths: Vec<PathResult>,
    pub profile: Option<Profile>,
    /// What the guarantee depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// Those of them that cut a loop which is known to run more often.
    pub cuts: Vec<String>,
    /// What is worth knowing and no condition, one sentence each.
    pub notes: Vec<String>,
    pub stats: Stats,
    /// All that the device lacks for the program.
    pub refusals: Vec<Refusal>,
    pub error: Option<String>,
}

/// What is known about a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// A packet comes up to it, or a fixed limit that no program exceeds.
    Exact,
    /// The same, if the assumptions hold.
    Conditional,
    /// It holds, if the assumptions do; whether a packet comes up to it is not known.
    Bound,
}

/// A bound on the throughput or, on targets that count, on the work per packet.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Bound {
    pub bitrate_bps: Option<f64>,
    pub packetrate_pps: Option<f64>,
    /// Events by component, on targets that count.
    pub counts: Option<Map<String, Value>>,
    pub verdict: Verdict,
    /// Whether the verdict is that.
    pub exact: bool,
    pub stopped: Option<String>,
    pub bottleneck: Option<String>,
    /// Packets per second by component; null where the component sets no limit.
    pub components: Option<Map<String, Value>>,
}

impl Bound {
    /// The same bound, known to be what the slowest path comes to, under conditions or not.
    pub fn found(self, conditional: bool) -> Bound {
        let verdict = if conditional { Verdict::Conditional } else { Verdict::Exact };
        Bound { verdict, exact: !conditional, ..self }
    }

    /// The same bound, of which no more is known than that it holds.
    pub fn not_more(self) -> Bound {
        Bound { verdict: Verdict::Bound, exact: false, stopped: None, ..self }
    }
}

/// A satisfiable path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathResult {
    /// Cycles, or counts, by component.
    pub cost: Map<String, Value>,
    pub min_packet_size: u32,
    pub bitrate_bps: Option<f64>,
    pub packetrate_pps: Option<f64>,
    pub bottleneck: Option<String>,
    pub edges: Vec<(u32, u32)>,
    pub source: Vec<(String, u32)>,
    pub lines: Vec<Line>,
    pub witness: WitnessResult,
    /// Under what conditions a packet takes it, besides the assumptions of the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<String>,
}

/// A source line of a path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub file: String,
    pub line: u32,
    /// Empty when the object does not have it.
    pub text: String,
    /// How many instructions of it the path executes.
    pub instructions: u64,
}

/// Where the cost of the path behind the guarantee goes.
///
/// The costs of all `instructions`, and those of all `lines` with those of the instructions without
/// one, come to `cost` less `overhead`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Profile {
    /// Cycles, or counts, by component; per-packet overhead included.
    pub cost: Map<String, Value>,
    pub overhead: Map<String, Value>,
    /// Lines of different functions are told apart, so that inlined code is there once for each.
    pub lines: Vec<ProfileLine>,
    /// In the order of the program.
    pub instructions: Vec<ProfileInsn>,
}

/// What a source line costs on a path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProfileLine {
    pub file: String,
    pub line: u32,
    /// Empty when the object does not have it.
    pub text: String,
    pub function: Option<String>,
    /// How often the path executes the instruction of it that it executes most.
    pub runs: u64,
    /// How many instructions of it the path executes.
    pub instructions: u64,
    pub cost: Map<String, Value>,
}

/// What an instruction costs on a path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProfileInsn {
    pub instruction: u32,
    pub text: String,
    pub function: Option<String>,
    /// Index into the lines; null when the line is not known.
    pub line: Option<usize>,
    /// How often the path executes it.
    pub runs: u64,
    /// Of all its executions together.
    pub cost: Map<String, Value>,
}

/// A packet and map content that take a path.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WitnessResult {
    /// Two hexadecimal digits a byte, `--` for any value.
    pub packet: String,
    pub length: u32,
    pub maps: Map<String, Value>,
    /// In the order of the path.
    pub unknowns: Vec<Unknown>,
    pub environment: Vec<Given>,
}

/// What has to be so before the first instruction, besides packet and maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Given {
    /// A value that has a name, such as a field of the context.
    Value { name: String, value: u64 },
    /// Bytes of memory: around the packet, of the stack.
    Memory {
        memory: String,
        /// Of the first byte; in front of what the name says, if negative.
        offset: i64,
        /// Two hexadecimal digits a byte.
        bytes: String,
    },
}

/// A value that an instruction has to yield for the path to be taken, and that nothing determines:
/// a clock, a random number, the result of a helper.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Unknown {
    pub instruction: u32,
    /// The instruction.
    pub text: String,
    /// Null when the source line is not known.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// What yields it, such as a helper.
    pub call: String,
    /// Which of its results it is.
    pub result: String,
    pub value: u64,
    /// The value as people write it: an error by name, a time in nanoseconds.
    pub meaning: String,
    /// See [`slowpath_ir::Draw`].
    #[serde(skip)]
    pub computed: bool,
}

/// Effort.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Stats {
    pub seconds: f64,
    pub candidates: u64,
    pub sat: u64,
    pub unsat: u64,
    pub nogoods: u64,
    pub solver_checks: u64,
    pub solver_seconds: f64,
}

/// What the human report shows besides the result.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Detail {
    pub paths: Vec<PathDetail>,
    /// The program's instructions.
    pub code: Vec<CodeInsn>,
    /// Why there is no bound at all, when that is for lack of time and not an error in the input.
    pub stopped: Option<String>,
    /// Whether the error is one of the options, whatever the program.
    pub usage: bool,
    /// Limits of `--unroll` that the program has no code for, as they were given.
    pub unmatched: Vec<String>,
}

/// A path for the human report.
#[derive(Clone, Debug, Default, Serialize)]
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
pub(crate) struct CodeInsn {
    pub instruction: u32,
    pub text: String,
    pub source: Option<CodeLine>,
}

/// A source line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CodeLine {
    pub file: String,
    pub line: u32,
    /// Empty when the object does not have it.
    pub text: String,
}

/// Instructions of one source line that are executed one after the other.
#[derive(Clone, Debug, Serialize)]
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
