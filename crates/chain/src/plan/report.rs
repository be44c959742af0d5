//! What is reported about a topology: a document, which others display.

use crate::report::{FactReport, GuardReport};
use serde::Serialize;

/// About a topology.
#[derive(Debug, Default, Serialize)]
pub struct PlanReport {
    /// Wall-clock time of all in seconds.
    pub seconds: f64,
    /// Why it ended early, if it did.
    pub stopped: Option<String>,
    /// Questions to the solver, but for those of results that were kept from before.
    pub queries: u64,
    /// Results that were kept from an earlier plan.
    pub kept: u64,
    /// Results that were computed.
    pub computed: u64,
    /// The programs whose objects are others than when this topology was planned last, by name.
    pub changed: Vec<String>,
    /// In the order of the description.
    pub paths: Vec<PathReport>,
    /// Variants of programs, those that gain most first.
    pub hot_spots: Vec<HotSpot>,
    /// Programs that stay as they were, for some of their traffic; most traffic first.
    pub as_is: Vec<AsIs>,
    /// The nodes for which there was no time.
    pub not_looked_at: Vec<String>,
    /// The nodes on no path.
    pub unused: Vec<String>,
    /// What else there is to say, one sentence each.
    pub notes: Vec<String>,
}

/// About a path.
#[derive(Debug, Default, Serialize)]
pub struct PathReport {
    /// Its name, or its number, from 1.
    pub name: String,
    /// The part of all traffic that it has.
    pub share: f64,
    /// The nodes on it.
    pub nodes: Vec<String>,
    /// If some of them are never reached, which is the first of them and why, in a sentence.
    pub never: Option<String>,
}

/// A variant of a program.
#[derive(Debug, Default, Serialize)]
pub struct HotSpot {
    /// The node that it is for.
    pub node: String,
    /// The program, by its name in the topology.
    pub program: String,
    /// What it is called: `all`, or its ingresses.
    pub variant: String,
    /// The ingresses that it is for.
    pub ingresses: Vec<String>,
    /// The part of all traffic that it is for.
    pub share: f64,
    /// How many instructions the original has, in 8-byte slots.
    pub instructions_before: usize,
    /// How many it has, the original behind a guard included.
    pub instructions_after: usize,
    /// What it checks itself before it relies on it; null if it does not.
    pub guard: Option<GuardReport>,
    /// How many instructions the original executes at most, on the packets that this is for.
    pub cost_before: Option<CostReport>,
    /// How many the variant executes at most, on these packets.
    pub cost_after: Option<CostReport>,
    /// The sum over its ingresses of their share times the instructions that their slowest packet is
    /// spared; null where that is not known.
    pub gain: Option<f64>,
    /// What holds of every packet that it is for.
    pub facts: Vec<FactReport>,
    /// The nodes whose programs establish what it relies on.
    pub rests_on: Vec<String>,
    /// The other nodes in front of it: what is known of their programs is not used.
    pub irrelevant: Vec<String>,
    /// Conditions that all of it depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// What else there is to say, one sentence each.
    pub remarks: Vec<String>,
}

/// How many instructions are executed at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CostReport {
    /// No packet takes more.
    pub instructions: u64,
    /// Whether some packet takes as many.
    pub exact: bool,
}

/// A program that stays as it was.
#[derive(Debug, Default, Serialize)]
pub struct AsIs {
    /// The node.
    pub node: String,
    /// The program, by its name in the topology.
    pub program: String,
    /// The ingresses for which it does.
    pub ingresses: Vec<String>,
    /// The part of all traffic that this is.
    pub share: f64,
    /// Why, one sentence each.
    pub why: Vec<String>,
}
