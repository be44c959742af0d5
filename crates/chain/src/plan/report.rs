//! Types of the report about planning a topology, which are serialised for display.

use crate::report::{FactReport, GuardReport};
use serde::Serialize;

/// Report about which nodes of a topology should run rewritten programs.
#[derive(Debug, Default, Serialize)]
pub struct PlanReport {
    /// Total wall-clock time in seconds.
    pub seconds: f64,
    /// Reason why the work ended early; null if it did not.
    pub stopped: Option<String>,
    /// Number of solver queries, without those for results that were reused from an earlier plan.
    pub queries: u64,
    /// Number of intermediate results that were reused from an earlier plan.
    pub kept: u64,
    /// Number of intermediate results that were computed for this plan.
    pub computed: u64,
    /// Names of the programs whose objects changed since this topology was last planned.
    pub changed: Vec<String>,
    /// Reports about paths, in the order of the topology's description.
    pub paths: Vec<PathReport>,
    /// Rewritten versions (variants) of programs, those with the greatest gain first.
    pub hot_spots: Vec<HotSpot>,
    /// Programs of nodes that stay unchanged for some of their traffic, sorted by this traffic in
    /// descending order.
    pub as_is: Vec<AsIs>,
    /// Names of nodes that were skipped for lack of time.
    pub not_looked_at: Vec<String>,
    /// Names of nodes that are on no path.
    pub unused: Vec<String>,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

/// A path through the network, with its traffic.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlannedPath"))]
pub struct PathReport {
    /// Name of the path; the path's number, counted from 1, if it has no name.
    pub name: String,
    /// Share of all traffic that takes the path, from 0 to 1.
    pub share: f64,
    /// Names of the nodes on the path, in order.
    pub nodes: Vec<String>,
    /// Sentence that names the first node on the path that no packet reaches, and the reason; null
    /// if packets reach all nodes.
    pub never: Option<String>,
}

/// A rewritten version (variant) of a program for the traffic of some ingresses of a node.
#[derive(Debug, Default, Serialize)]
pub struct HotSpot {
    /// Name of the node that runs the variant.
    pub node: String,
    /// Name of the program in the topology.
    pub program: String,
    /// Name of the variant: `all`, or the names of its ingresses.
    pub variant: String,
    /// Ingresses (such as interfaces) whose packets the variant processes.
    pub ingresses: Vec<String>,
    /// Share of all traffic that the variant processes, from 0 to 1.
    pub share: f64,
    /// Number of instructions of the original program, in 8-byte slots.
    pub instructions_before: usize,
    /// Number of instructions of the variant in 8-byte slots, including the copy of the original
    /// behind a guard.
    pub instructions_after: usize,
    /// Checks that the variant makes before it relies on facts; null if it makes none.
    pub guard: Option<GuardReport>,
    /// Maximum number of instructions that the original executes for packets of the variant; null
    /// if not known.
    pub cost_before: Option<CostReport>,
    /// Maximum number of instructions that the variant executes for its packets; null if not known.
    pub cost_after: Option<CostReport>,
    /// Gain of the variant: the sum, over its ingresses, of their share of traffic times the
    /// instructions that their slowest packet saves; null if not known.
    pub gain: Option<f64>,
    /// Facts about every packet that the variant processes.
    pub facts: Vec<FactReport>,
    /// Names of earlier nodes whose programs establish the facts that the variant relies on.
    pub rests_on: Vec<String>,
    /// Names of the other earlier nodes on the paths. The variant relies on no fact that their
    /// programs establish.
    pub irrelevant: Vec<String>,
    /// Conditions that the results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Remarks for the user, one sentence each.
    pub remarks: Vec<String>,
}

/// Maximum number of instructions that a program executes for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "GreatestCost"))]
pub struct CostReport {
    /// Upper bound on the number of instructions, for every packet.
    pub instructions: u64,
    /// True if some packet executes exactly this many instructions.
    pub exact: bool,
}

/// A program of a node that stays unchanged for some of its packets.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AsIs {
    /// Name of the node that runs the program.
    pub node: String,
    /// Name of the program in the topology.
    pub program: String,
    /// Ingresses of the packets for which the program stays unchanged.
    pub ingresses: Vec<String>,
    /// Share of all traffic that these packets make up, from 0 to 1.
    pub share: f64,
    /// Reasons why the program stays unchanged for these packets, one sentence each.
    pub why: Vec<String>,
}
