//! Types of the results of an analysis, which are serialised as JSON.
//!
//! The doc comments of these types are user documentation: `schema.rs` generates the JSON Schema
//! and `docs/reference/json.md` from them. A field that older versions did not write has a
//! default in the schema, which readers of old results assume.

mod detail;
mod witness;

pub(crate) use detail::{CodeBlock, CodeInsn, CodeLine, Detail, PathBranch, PathDetail, Stretch};
pub(crate) use witness::{
    ElementValue, Fill, HeldMap, InitialBytes, MapContent, MapElement, Memory, Named, Others,
    PipelineField, PipelineLookup, PipelineWitness, QueueElement, Requirement, Unknown,
    WitnessResult,
};

use crate::refusal::Refusal;
use indexmap::IndexMap;
use serde::Serialize;

/// The result of one program: a guarantee, or an error.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Result"))]
pub(crate) struct ProgramResult {
    /// The name of the file, as the user stated it.
    pub file: String,
    /// Section of the program in its object; null for listings and chains.
    pub section: Option<String>,
    /// Name of the program. For a listing or a chain, the file name without extension.
    pub program: String,
    /// Type of the program according to its section, such as `xdp`. `unknown` if the section does
    /// not tell the type; the program is then analysed as XDP, because it is the only program of
    /// its object or was selected by name. Null for listings and chains.
    pub kind: Option<String>,
    /// Name of the target, from its description.
    pub target: String,
    /// Metric of the guarantee. `bitrate` or `packetrate` if the search minimised a rate. On a
    /// target that counts, the component whose count the search maximised, such as `instructions`
    /// or `memory-accesses`.
    pub metric: String,
    /// Number of cores that run the program; 0 after an error that occurred before the number was
    /// known. Null on targets that count events instead of computing rates.
    pub cores: Option<u32>,
    /// The guarantee: no packet makes the program slower than this. Null after an error.
    pub guarantee: Option<Bound>,
    /// The guarantee for the case that other CPUs write anything to maps that a run accesses more
    /// than once. Present only if it is worse than `guarantee`, which holds while no other CPU
    /// changes the maps that `assumptions` names. Its path depends on writes of other CPUs between
    /// two accesses, so a test run cannot repeat the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Bound"))]
    pub interleaved: Option<Bound>,
    /// The bound that follows if every path is assumed to be satisfiable; null after an error. It
    /// is set by the slowest path, whether or not some packet takes it.
    pub naive: Option<Bound>,
    /// Estimated time of the slowest path. Null on targets that do not estimate times, and if the
    /// analysis ran out of time before the estimate. Not a guarantee: a measurement can differ.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub estimate: Option<Estimate>,
    /// Satisfiable paths, slowest first (by their estimates, if any). The number is limited by
    /// `--paths` and by the paths that the search found. If a search with `--paths all` ends early,
    /// the list has the slowest path and arbitrary others. While `guarantee.verdict` is `bound`,
    /// the list has at most one path, which some packet takes; the true worst case is between its
    /// cost and the guarantee. Empty after an error.
    pub paths: Vec<PathResult>,
    /// Breakdown of the cost of the path that sets the guarantee or, if there is an estimate, of
    /// the path that `estimate` describes. While `guarantee.verdict` is `bound`, the path is
    /// similar to those that the bound covers and may cost more. Null after an error, and if the
    /// analysis ended before the program was unrolled. Also null if the analysis had to be ended by
    /// force half a second after its limits.
    pub profile: Option<Profile>,
    /// Assumptions of the guarantee, one sentence each: prices from `--assume`, limits from
    /// `--unroll`, and assumptions of a front end. The guarantee, exact or not, holds only if all
    /// assumptions hold. The requirements of a single path are in its witness.
    pub assumptions: Vec<String>,
    /// Assumptions that limit a loop to fewer iterations than it is known to make (`--unroll
    /// N@LOCATION`); they are also among the `assumptions`. If there are any, `--require` is met
    /// only with `--accept-assumptions`.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub cuts: Vec<String>,
    /// Remarks that do not affect the guarantee, one sentence each. Examples are differences
    /// between SmartNIC and kernel that the driver's compiler causes, and programs of a chain that
    /// no packet reaches. Remarks that begin with `estimates:` state the assumptions of the
    /// estimate, or the reason why there is none.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub notes: Vec<String>,
    /// Statistics of the search.
    pub stats: Stats,
    /// All reasons why the target cannot run the program, if the program is compiled for the
    /// target. Each reason appears once, in the order of the first instruction that it affects.
    /// Problems that show only after the listed ones are solved, such as the length of the program
    /// on the SmartNIC, are not listed. `error` has the first reason. Empty if the program runs on
    /// the target or fails for another reason.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub refusals: Vec<Refusal>,
    /// Reason why there is no guarantee, in one line; null if there is one. `deadline while STAGE:
    /// there is no bound yet` (also `total deadline`, `interrupted`, `memory limit`, `out of
    /// stack`) if the analysis ended too early. `interrupted before it was analysed` or `total
    /// deadline before it was analysed` if it did not begin. The exit code of both is 4.
    pub error: Option<String>,
    /// Code of the cause of `error`, such as `SP0501`, which `slowpath explain` describes; null if
    /// there is a guarantee.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub code: Option<String>,
}

/// Strength of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verdict {
    /// A packet exists that brings the program down to this rate, or up to this count. Also used if
    /// the bound is a fixed limit that no program exceeds.
    Exact,
    /// The bound is exact if the assumptions of the result hold.
    Conditional,
    /// The program is at least this fast, or needs at most this much, if the assumptions hold. A
    /// packet that reaches the bound is not known.
    Bound,
}

/// A bound on the throughput or, on targets that count, on the work per packet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Bound {
    /// Bits per second. The rate that `metric` names is guaranteed. The other rate belongs to the
    /// path that sets the bound, and other paths may have a lower rate. Null on targets that count
    /// events instead of computing rates.
    pub bitrate_bps: Option<f64>,
    /// Packets per second; see `bitrate_bps`.
    pub packetrate_pps: Option<f64>,
    /// Number of events by component of the target, such as `{"instructions": N, "memory accesses":
    /// M}`; null on targets with rates. No packet exceeds the count of the component that `metric`
    /// names. The other counts belong to the path that sets the bound, and other paths may have
    /// higher counts.
    pub counts: Option<IndexMap<String, u64>>,
    /// `exact`: a packet exists that brings the program down to this rate, or up to this count; or
    /// the bound is a fixed limit that no program exceeds. `conditional`: the same, if the
    /// `assumptions` hold, and there are some. `bound`: the program is at least this fast, or needs
    /// at most this much, if the `assumptions` hold. Always `bound` in `naive`.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub verdict: Verdict,
    /// True if `verdict` is `exact`.
    pub exact: bool,
    /// Reason why the search ended early: `deadline`, `total deadline`, `interrupted`, `memory
    /// limit while STAGE`, `out of stack while STAGE`, or a sentence. Examples of sentences: the
    /// solver gave up; or only facts about the arriving packets are known, because the program runs
    /// on a SmartNIC behind other devices. If the verdict is not `bound`, further `paths` may be
    /// missing. Null if the search found everything that was requested, and always in `naive`.
    pub stopped: Option<String>,
    /// The component or fixed limit of the target that sets the rate; null on targets that count
    /// events instead of computing rates.
    pub bottleneck: Option<String>,
    /// Packets per second that each component and each fixed limit of the target allows on the path
    /// that sets the bound, in the order of the target description. A component without work on
    /// this path sets no limit and is null. On targets that count events instead of computing
    /// rates, the whole value is null.
    pub components: Option<IndexMap<String, Option<f64>>>,
}

impl Bound {
    /// Returns the bound with the verdict that a packet reaches it: `conditional`, if the result
    /// has assumptions, else `exact`.
    pub fn found(self, conditional: bool) -> Bound {
        let verdict = if conditional { Verdict::Conditional } else { Verdict::Exact };
        Bound { verdict, exact: !conditional, ..self }
    }

    /// Returns the bound with the verdict `bound`: no packet is known to reach it.
    pub fn into_bound(self) -> Bound {
        Bound { verdict: Verdict::Bound, exact: false, stopped: None, ..self }
    }
}

/// Estimated time of the slowest path on one core of a machine. `warm` and `cold` can be about two
/// paths: each is the time of the path that is slowest with these caches.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Estimate {
    /// Estimate with few map entries in warm caches.
    pub warm: RatedTime,
    /// Estimate with many map entries in caches that are too small for them.
    pub cold: RatedTime,
    /// Nanoseconds that the kernel's loop for test runs adds to each run in `slowpath measure`. For
    /// a pipeline, those of receiving and sending with ports in memory. They are not a part of the
    /// other numbers.
    pub loop_ns: f64,
    /// Published time of receiving and dropping a packet. It is not a part of the other numbers.
    /// Null if the target has none.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub driver: Option<DriverTime>,
    /// Machine whose experiments calibrate the estimate.
    pub machine: String,
    /// Date on which the experiments that calibrate the estimate were made.
    pub date: String,
    /// Reason why the calibration is too poor to be the default of its machine. Null if it is good
    /// enough, or does not state its quality.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub doubt: Option<String>,
    /// CPU for which the estimate holds with a wider interval, because it is of another family than
    /// the machine. Null if the estimate is for the machine.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub foreign_cpu: Option<String>,
    /// Number of paths whose time was estimated. They are the slowest paths by the sum of the times
    /// of their instructions and calls.
    pub candidates: u64,
    /// Reason why the search for more paths ended early; null if no more exist or enough were
    /// found.
    pub stopped: Option<String>,
}

/// Published time of receiving and dropping a packet on one core of another machine, with a program
/// that does nothing else.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DriverTime {
    /// Time per packet in nanoseconds.
    pub ns: f64,
    /// Name of the driver.
    pub name: String,
    /// Address of the publication.
    pub source: String,
}

/// Estimated time of a path on one core. It is the program's own time: receiving, redirecting and
/// sending packets are not included.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathEstimate {
    /// Time with few map entries, all data in warm caches.
    pub warm: Time,
    /// Time with many map entries in caches that are too small for them.
    pub cold: Time,
    /// For a pipeline: its instructions and lookups by kind, the most expensive first. Their times
    /// add up to those of the path. Absent for other programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<EstimatePart>,
}

/// Instructions or lookups of one kind on a path of a pipeline, with their estimated time.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EstimatePart {
    /// Kind, as in the target description: an instruction, with `.next` if DPDK runs it together
    /// with the one before, or `table.KIND.hit` and `table.KIND.miss`.
    pub part: String,
    /// Number of executions.
    pub runs: u64,
    /// Sum of the bytes in the keys of all lookups, at most 64 each.
    pub key_bytes: u64,
    /// Nanoseconds with few entries in tables.
    pub warm_ns: f64,
    /// Nanoseconds with many entries in tables.
    pub cold_ns: f64,
}

/// Estimated time of a program for a packet, with its interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Time {
    /// Nanoseconds per packet.
    pub ns: f64,
    /// Lower end of the interval that contains 90 of 100 measurements.
    pub low_ns: f64,
    /// Upper end of the interval that contains 90 of 100 measurements.
    pub high_ns: f64,
}

/// Estimated time of a program for a packet, with its rate and the three assumptions of the rate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RatedTime {
    #[serde(flatten)]
    pub time: Time,
    /// Packets per second on one core that does nothing else.
    pub packetrate_pps: f64,
    /// Entries in each map: `few`, `full`, or a number (`--entries`) for maps with room for as many.
    /// With numbers of single maps: `NAME=NUMBER,NAME=NUMBER, others full`. Packets are spread over
    /// all entries.
    pub entries: String,
    /// State of the caches, `warm` or `cold`: whether they contain all map entries of all packets.
    pub caches: &'static str,
    /// Part of receiving, redirecting and sending in the time: `excluded`.
    pub receiving: &'static str,
}

impl RatedTime {
    /// Returns the estimated time `time` together with the rate that follows from it. `entries` and
    /// `caches` name the assumptions of the estimate.
    pub fn new(time: Time, entries: String, caches: &'static str) -> RatedTime {
        let packetrate_pps = 1e9 / time.ns;
        RatedTime { time, packetrate_pps, entries, caches, receiving: "excluded" }
    }
}

/// A path of the program that some packet takes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathResult {
    /// Cycles by component of the target, without fixed limits. On `agilio-cx-2x40`, `processing`
    /// counts cycles of one core with the per-packet overhead, and `dram` counts cycles of the one
    /// DRAM engine. A whole number of cycles is written without a fraction. On targets that count
    /// events instead of computing rates: the number of events by component.
    pub cost: IndexMap<String, Amount>,
    /// Length in bytes of the smallest packet that can take the path.
    pub min_packet_size: u32,
    /// Predicted bits per second if all packets take this path and have `min_packet_size` bytes.
    /// The fixed limits of the target apply, as in a guarantee. Null on targets that count events
    /// instead of computing rates.
    pub bitrate_bps: Option<f64>,
    /// Packets per second; see `bitrate_bps`.
    pub packetrate_pps: Option<f64>,
    /// The component or fixed limit of the target that sets the rates of the path; null on targets
    /// that count events instead of computing rates.
    pub bottleneck: Option<String>,
    /// Estimated time of the path; null on targets that do not estimate times.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub estimate: Option<PathEstimate>,
    /// Edges `[from, to]` of the control-flow graph in order of execution. A basic block is named
    /// by the number of its first instruction. The last `to` is the exit of the program.
    pub edges: Vec<(u32, u32)>,
    /// Source lines `[file, line]` in order of execution; empty if the program has no debug
    /// information.
    pub source: Vec<(String, u32)>,
    /// Source lines of the path, each once, in the order in which the path first reaches them;
    /// empty if the program has no debug information.
    pub lines: Vec<Line>,
    /// A packet that takes the path. It is replayed before it is reported.
    pub witness: WitnessResult,
    /// Additional conditions for a packet to take the path, one sentence each: results of calls
    /// that the model does not follow completely. Absent if there are none. The conditions of the
    /// slowest path are also among the `assumptions` of the result, whose verdict is then
    /// conditional.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<String>,
}

/// A source line of a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PathLine"))]
pub(crate) struct Line {
    /// File name, from the debug information.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// Text of the line; empty if the object does not contain it.
    pub text: String,
    /// Number of instructions of the line that the path executes.
    pub instructions: u64,
}

/// Breakdown of the cost of a path.
///
/// The path is the slowest satisfiable one. While `guarantee.verdict` is `bound`, it is the path
/// that sets the bound, and possibly no packet takes it. Every price depends on the position on the
/// path: a branch is priced by the instructions before it, a memory access with the time that it
/// waits for the previous one. The costs of all `instructions` and `overhead` add up to `cost`. The
/// costs of all `lines`, of the instructions whose `line` is null, and `overhead` also add up to
/// `cost`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Profile {
    /// Cost of the whole path, by component of the target.
    pub cost: IndexMap<String, Amount>,
    /// Part of the cost that is the device's per-packet overhead.
    pub overhead: IndexMap<String, Amount>,
    /// Costs of the programs of a chain on the path, in the order in which they run; empty for a
    /// single program. These costs and `overhead` add up to `cost`.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub programs: Vec<ProfileProgram>,
    /// Source lines of the path, in the order of their first instructions; empty if the program has
    /// no debug information. The same line in different functions has an entry for each, so inlined
    /// code appears once per function.
    pub lines: Vec<ProfileLine>,
    /// Instructions of the path, in program order.
    pub instructions: Vec<ProfileInsn>,
}

/// Cost of a program of a chain on a path, including the programs that its tail calls reach.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProfileProgram {
    /// Name of the program in the chain.
    pub program: String,
    /// Number of the program's instructions that the path executes.
    pub instructions: u64,
    /// Cost of the program's instructions on the path, by component.
    pub cost: IndexMap<String, Amount>,
}

/// Cost of a source line on a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProfileLine {
    /// File name, from the debug information.
    pub file: String,
    /// Line number.
    pub line: u32,
    /// Text of the line; empty if the object does not contain it.
    pub text: String,
    /// Name of the function that contains the line; null if not known.
    pub function: Option<String>,
    /// Number of executions of the line: that of its most frequently executed instruction.
    pub runs: u64,
    /// Number of instructions of the line that the path executes.
    pub instructions: u64,
    /// Cost of all executions of the line, by component.
    pub cost: IndexMap<String, Amount>,
}

/// Cost of an instruction on a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ProfileInstruction"))]
pub(crate) struct ProfileInsn {
    /// Number of the instruction in the program.
    pub instruction: u32,
    /// Text of the instruction in assembly language.
    pub text: String,
    /// Name of the function that contains the instruction; null in listings, and if not known.
    pub function: Option<String>,
    /// Position of the instruction's source line in `lines`; null if the source line is not known.
    pub line: Option<usize>,
    /// Number of times that the path executes the instruction.
    pub runs: u64,
    /// Cost of all executions of the instruction, by component.
    pub cost: IndexMap<String, Amount>,
}

/// Amount of one component of a cost: cycles, or a count.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(with = "f64"))]
pub(crate) enum Amount {
    /// A whole number of cycles, or a count.
    Whole(u64),
    /// A number of cycles with a fraction.
    Fraction(f64),
}

/// Statistics of the search. Only the times differ from run to run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Stats {
    /// Duration of the analysis in seconds.
    pub seconds: f64,
    /// Number of paths whose conditions the solver checked.
    pub candidates: u64,
    /// Number of checked paths that some packet can take.
    pub sat: u64,
    /// Number of checked paths that no packet can take.
    pub unsat: u64,
    /// Number of nogoods that were found: sets of edges that no packet can take together.
    pub nogoods: u64,
    /// Number of calls of the solver.
    pub solver_checks: u64,
    /// Time spent in the solver, in seconds.
    pub solver_seconds: f64,
}
