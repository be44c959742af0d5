//! Types of the report about a topology, which are serialised for display.

use crate::report::{FactReport, GuardReport};
use serde::Serialize;

/// Report about a topology.
#[derive(Debug, Default, Serialize)]
pub struct PlanReport {
    /// Total wall-clock time in seconds.
    pub seconds: f64,
    /// Reason why the work ended early; null if it did not.
    pub stopped: Option<String>,
    /// Number of solver queries, without those of results from an earlier plan.
    pub queries: u64,
    /// Number of results from an earlier plan.
    pub kept: u64,
    /// Number of results that were computed.
    pub computed: u64,
    /// Names of the programs whose objects changed since this topology was last planned.
    pub changed: Vec<String>,
    /// Reports about paths, in the order of the description.
    pub paths: Vec<PathReport>,
    /// Variants of programs, those with the greatest gain first.
    pub hot_spots: Vec<HotSpot>,
    /// Programs that stay as they were for some of their traffic; most traffic first.
    pub as_is: Vec<AsIs>,
    /// Nodes that were skipped for lack of time.
    pub not_looked_at: Vec<String>,
    /// Nodes that are on no path.
    pub unused: Vec<String>,
    /// Further notes, one sentence each.
    pub notes: Vec<String>,
}

/// A path through the network.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PlannedPath"))]
pub struct PathReport {
    /// Name of the path, or its number from 1.
    pub name: String,
    /// Share of all traffic, from 0 to 1.
    pub share: f64,
    /// Nodes on the path, in order.
    pub nodes: Vec<String>,
    /// If packets cannot reach some of the nodes: the first of these and the reason, in one
    /// sentence.
    pub never: Option<String>,
}

/// A variant of a program.
#[derive(Debug, Default, Serialize)]
pub struct HotSpot {
    /// Node that runs the variant.
    pub node: String,
    /// Name of the program in the topology.
    pub program: String,
    /// Name of the variant: `all`, or its ingresses.
    pub variant: String,
    /// Ingresses that the variant is for.
    pub ingresses: Vec<String>,
    /// Share of all traffic that the variant is for, from 0 to 1.
    pub share: f64,
    /// Number of instructions of the original, in 8-byte slots.
    pub instructions_before: usize,
    /// Number of instructions of the variant, with the original behind a guard.
    pub instructions_after: usize,
    /// Checks that the variant makes before it relies on facts; null if it makes none.
    pub guard: Option<GuardReport>,
    /// Maximum number of instructions that the original executes for packets of the variant; null
    /// if not known.
    pub cost_before: Option<CostReport>,
    /// Maximum number of instructions that the variant executes for these packets; null if not
    /// known.
    pub cost_after: Option<CostReport>,
    /// Sum, over the ingresses, of their share times the instructions that their slowest packet
    /// saves; null if not known.
    pub gain: Option<f64>,
    /// Facts about every packet of the variant.
    pub facts: Vec<FactReport>,
    /// Nodes whose programs establish the facts that the variant relies on.
    pub rests_on: Vec<String>,
    /// Other nodes before this one; facts about their programs are not used.
    pub irrelevant: Vec<String>,
    /// Conditions that the results depend on, one sentence each.
    pub assumptions: Vec<String>,
    /// Further remarks, one sentence each.
    pub remarks: Vec<String>,
}

/// Maximum number of instructions that a program executes for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "GreatestCost"))]
pub struct CostReport {
    /// Upper bound for every packet.
    pub instructions: u64,
    /// True if a packet reaches the bound.
    pub exact: bool,
}

/// A program that stays unchanged for some of its packets.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AsIs {
    /// Name of the node.
    pub node: String,
    /// Name of the program in the topology.
    pub program: String,
    /// Ingresses of these packets.
    pub ingresses: Vec<String>,
    /// Share of all traffic that these packets make up, from 0 to 1.
    pub share: f64,
    /// Reasons, one sentence each.
    pub why: Vec<String>,
}
