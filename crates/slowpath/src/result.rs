//! Results as data, ready to be serialised.
//!
//! The documentation of these types is that of the JSON: the JSON Schema and `docs/json.md` are made
//! of it (`schema.rs`). What older versions did not write has a default there, which is what reading
//! their results yields.

mod detail;
mod witness;

pub(crate) use detail::{CodeInsn, CodeLine, Detail, PathDetail, Stretch};
pub(crate) use witness::{
    ElementValue, Fill, Given, HeldMap, MapContent, MapElement, Memory, Named, Others,
    QueueElement, Surroundings, Unknown, WitnessResult,
};

use crate::refusal::Refusal;
use indexmap::IndexMap;
use serde::Serialize;

/// The result of one program: a guarantee, or an error.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Result"))]
pub(crate) struct ProgramResult {
    /// The file as the user named it.
    pub file: String,
    /// Section of the program in its object; null for listings and chains.
    pub section: Option<String>,
    /// Name of the program; for a listing or a chain, the file's name without extension.
    pub program: String,
    /// Type of the program, as its section tells: `xdp`; `unknown` where the section does not tell,
    /// and the program is taken for XDP, because it is the only one of its object or was asked for
    /// by name. Null for listings and chains.
    pub kind: Option<String>,
    /// Name of the target, as its description has it.
    pub target: String,
    /// What the guarantee is about: `bitrate` or `packetrate`, which the search minimised; on a
    /// target that counts the component whose count it maximised, such as `instructions` or
    /// `memory-accesses`.
    pub metric: String,
    /// Cores that run the program; after an error, 0 if that was not settled. Null on targets that
    /// count.
    pub cores: Option<u32>,
    /// What no packet makes the program fall below; null after an error.
    pub guarantee: Option<Bound>,
    /// The guarantee whatever other CPUs write to maps that a run accesses more than once. Present
    /// where it is worse than `guarantee`, which holds while no other CPU changes the maps that
    /// `assumptions` names. Its path takes what other CPUs write between two accesses: no test run
    /// repeats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Bound"))]
    pub interleaved: Option<Bound>,
    /// The bound of the slowest path, satisfiable or not; null after an error.
    pub naive: Option<Bound>,
    /// What the slowest path is estimated to take, on a target that estimates; null on others, and
    /// where there was no time for it. No guarantee: a measurement can say otherwise.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub estimate: Option<Estimate>,
    /// Satisfiable paths, slowest first (by their estimates, where there are any); as many as
    /// `--paths` asked for and the search found. Cut short, `--paths all` has the slowest path and
    /// any others. While `guarantee.verdict` is `bound`, at most one: a path that some packet takes,
    /// so that the truth is between its cost and the guarantee. Empty after an error.
    pub paths: Vec<PathResult>,
    /// Where the cost of the path behind the guarantee goes, or, where there is an estimate, of the
    /// path behind that; null after an error, and where the analysis did not end by itself within
    /// half a second of its limits or before the program was unrolled. While `guarantee.verdict` is
    /// `bound`, that of a path like those that it bounds, which may cost more.
    pub profile: Option<Profile>,
    /// Sentences (prices from `--assume`, limits from `--unroll`, what a front end relies on); the
    /// guarantee, exact or not, holds only where they do. What a single path needs is in its
    /// witness.
    pub assumptions: Vec<String>,
    /// Those of them that cut a loop which is known to run more often (`--unroll N@LOCATION`); with
    /// any, `--require` is not met unless `--accept-assumptions` is given.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub cuts: Vec<String>,
    /// Sentences that the guarantee does not depend on: where the card does something else than the
    /// kernel because of how the driver compiles; which programs of a chain no packet reaches; those that begin with `estimates:` say what the
    /// estimate takes for granted, or why there is none.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub notes: Vec<String>,
    /// What the search did.
    pub stats: Stats,
    /// All that the target lacks for the program, where it is compiled for the target: each reason
    /// once, in the order of the first instruction that it refuses. What would only show after these
    /// are gone, such as the length of the program on the card, is not known yet. `error` has the
    /// first. Empty when the program runs there, or fails for another reason.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub refusals: Vec<Refusal>,
    /// Why there is no guarantee, one line; null when there is one. `deadline while STAGE: there is
    /// no bound yet` (also `total deadline`, `interrupted`, `memory limit`, `out of stack`) when it
    /// ended too early, `interrupted before it was analysed` and `total deadline before it was
    /// analysed` of programs that were not begun: exit code 4.
    pub error: Option<String>,
}

/// What is known about a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verdict {
    /// A packet exists that brings the program down to this rate, or up to this count, or it is a
    /// fixed limit that no program exceeds.
    Exact,
    /// The same, if the assumptions hold, and there are some.
    Conditional,
    /// The program is at least this fast, or needs at most this much, if the assumptions hold.
    Bound,
}

/// A bound on the throughput or, on targets that count, on the work per packet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Bound {
    /// Bits per second. The rate that `metric` names is guaranteed; the other one is what the path
    /// that sets the bound comes to, and other paths may have less of it. Null on targets that
    /// count.
    pub bitrate_bps: Option<f64>,
    /// Packets per second, as `bitrate_bps`.
    pub packetrate_pps: Option<f64>,
    /// Null, but on targets that count: `{"instructions": N, "memory accesses": M}`, by component of
    /// the target. No packet causes more than the count of the component that `metric` names; the
    /// others are those of the path that sets the bound, and other paths may have more of them.
    pub counts: Option<IndexMap<String, u64>>,
    /// `exact`: a packet exists that brings the program down to this rate, or up to this count, or a
    /// fixed limit that no program exceeds. `conditional`: the same, if the `assumptions` hold, and
    /// there are some. `bound`: the program is at least this fast, or needs at most this much, if
    /// the `assumptions` hold. Always `bound` in `naive`.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub verdict: Verdict,
    /// Whether `verdict` is `exact`.
    pub exact: bool,
    /// Why the search ended early: `deadline`, `total deadline`, `interrupted`, `memory limit while
    /// STAGE`, `out of stack while STAGE`, or a sentence (the solver gave up; arriving packets are
    /// known by facts only, where a card is behind other devices); null when it found all
    /// that was asked for. Where the verdict is not `bound` it says that further `paths` may be
    /// missing. Always null in `naive`.
    pub stopped: Option<String>,
    /// The component or limit that sets the rate; null on targets that count.
    pub bottleneck: Option<String>,
    /// Packets per second that each component and each fixed limit of the target allows on that
    /// path, in the order of the target description; null where it sets no limit (no work there),
    /// and null as a whole on targets that count.
    pub components: Option<IndexMap<String, Option<f64>>>,
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

/// What the slowest path is estimated to take on one core of a machine.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Estimate {
    #[serde(flatten)]
    pub path: PathEstimate,
    /// The machine whose experiments it is made with.
    pub machine: String,
    /// The date of these experiments.
    pub date: String,
    /// The reason against their calibration as the default of a machine; null where it is good
    /// enough, or states no quality.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub doubt: Option<String>,
    /// How many entries each map has that has room for so many (`--entries`); packets are spread over
    /// them.
    pub entries: u64,
    /// How many paths were estimated: the slowest ones by a sum of what instructions and calls take.
    pub candidates: u64,
    /// Why no more were looked for; null when there are no more, or were enough.
    pub stopped: Option<String>,
}

/// What a path is estimated to take on one core, in the kernel's loop for test runs, with everything
/// in the caches: what `slowpath measure` tells.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathEstimate {
    /// Nanoseconds a packet.
    pub ns: f64,
    /// Lower end of the interval that has 90 of 100 measurements.
    pub low_ns: f64,
    /// Upper end of it.
    pub high_ns: f64,
    /// Of the nanoseconds, what the program adds to the kernel's loop.
    pub program_ns: f64,
    /// Packets a second on one core that does nothing else, without receiving and sending.
    pub packetrate_pps: f64,
}

/// A satisfiable path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathResult {
    /// Cycles by component of the target, fixed limits have none. On `agilio-cx-2x40`, `processing`:
    /// of one core, per-packet overhead included; `dram`: of the one DRAM engine. A whole number of
    /// cycles is written without a fraction. On targets that count: the counts.
    pub cost: IndexMap<String, Amount>,
    /// Bytes of the smallest packet that can take the path.
    pub min_packet_size: u32,
    /// Predicted bits per second on this path alone, with packets of that size; capped as those of a
    /// guarantee are. Null on targets that count.
    pub bitrate_bps: Option<f64>,
    /// Packets per second, as `bitrate_bps`.
    pub packetrate_pps: Option<f64>,
    /// The component or limit that sets these rates; null on targets that count.
    pub bottleneck: Option<String>,
    /// What it is estimated to take; null on targets that do not estimate.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub estimate: Option<PathEstimate>,
    /// `[from, to]` in order: first instructions of basic blocks; the last `to` is the way out of the
    /// program.
    pub edges: Vec<(u32, u32)>,
    /// `[file, line]` in order of execution; empty when the program has no debug information.
    pub source: Vec<(String, u32)>,
    /// The source lines of the path, each once, in the order in which they are first reached; empty
    /// when the program has no debug information.
    pub lines: Vec<Line>,
    /// A packet that takes the path; it has been replayed before it is reported.
    pub witness: WitnessResult,
    /// What has to hold besides, one sentence each, for a packet to take the path: calls that the
    /// model does not follow to the end. Absent where nothing is needed. Those of the slowest path
    /// are among the `assumptions` of the result, which is conditional then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<String>,
}

/// A source line of a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PathLine"))]
pub(crate) struct Line {
    /// The file, as the debug information names it.
    pub file: String,
    /// Number of the line.
    pub line: u32,
    /// Text of the line; empty when the object does not have it.
    pub text: String,
    /// How many instructions of it the path executes.
    pub instructions: u64,
}

/// Where the cost of a path goes.
///
/// The path is the slowest satisfiable one or, while `guarantee.verdict` is `bound`, the one that
/// sets the bound, which no packet needs to take. Everything is priced where it stands on the path: a
/// branch by what comes before it, a memory access with the time that it waits for the one before.
/// The costs of all `instructions` and `overhead` add up to `cost`, and so do those of all `lines`,
/// of the instructions whose `line` is null, and `overhead`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Profile {
    /// Of the whole path, by component, as in a path.
    pub cost: IndexMap<String, Amount>,
    /// Of it, the device's per-packet overhead.
    pub overhead: IndexMap<String, Amount>,
    /// Of a chain, what its programs cost on the path, in the order in which they run; empty for a
    /// single program. Their costs and `overhead` add up to `cost`.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub programs: Vec<ProfileProgram>,
    /// Source lines of the path, in the order of their first instructions; empty when the program
    /// has no debug information. Lines of different functions are told apart, so that inlined code is
    /// there once for each.
    pub lines: Vec<ProfileLine>,
    /// Instructions of the path, in the order of the program.
    pub instructions: Vec<ProfileInsn>,
}

/// What a program of a chain costs on a path, with those that its tail calls lead to.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProfileProgram {
    /// What it is called in the chain.
    pub program: String,
    /// How many of its instructions the path executes.
    pub instructions: u64,
    /// Of all of them, by component.
    pub cost: IndexMap<String, Amount>,
}

/// What a source line costs on a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProfileLine {
    /// The file, as the debug information names it.
    pub file: String,
    /// Number of the line.
    pub line: u32,
    /// Text of the line; empty when the object does not have it.
    pub text: String,
    /// The function of the program that executes it; null where it is not known.
    pub function: Option<String>,
    /// How often the path executes the instruction of the line that it executes most.
    pub runs: u64,
    /// How many instructions of the line the path executes.
    pub instructions: u64,
    /// Of all its runs, by component.
    pub cost: IndexMap<String, Amount>,
}

/// What an instruction costs on a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ProfileInstruction"))]
pub(crate) struct ProfileInsn {
    /// Its number.
    pub instruction: u32,
    /// How it is written.
    pub text: String,
    /// The function of the program that it belongs to; null in listings, and where it is not known.
    pub function: Option<String>,
    /// Index into `lines`; null when its line is not known.
    pub line: Option<usize>,
    /// How often the path executes it.
    pub runs: u64,
    /// Of all its runs, by component.
    pub cost: IndexMap<String, Amount>,
}

/// How much of something a path costs: cycles, or a count.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(with = "f64"))]
pub(crate) enum Amount {
    /// A whole number of cycles, or a count.
    Whole(u64),
    /// Cycles.
    Fraction(f64),
}

/// What the search did. Only the times differ from run to run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stats {
    /// Duration of the analysis.
    pub seconds: f64,
    /// Paths that were checked.
    pub candidates: u64,
    /// How many of them were satisfiable.
    pub sat: u64,
    /// How many of them were not.
    pub unsat: u64,
    /// Sets of edges found that no packet can take together.
    pub nogoods: u64,
    /// How often the solver was asked.
    pub solver_checks: u64,
    /// Time spent in the solver.
    pub solver_seconds: f64,
}
