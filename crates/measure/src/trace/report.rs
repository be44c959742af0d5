//! What is known of a trace, as data.

use serde::Serialize;
use slowpath_replay::PathId;

use super::start::TraceMap;

/// What is known of a trace. Packets and paths count from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceReport {
    /// `pcap` or `pcapng`.
    pub format: String,
    /// How many packets were read.
    pub packets: u64,
    /// How many of them were not captured whole: what was captured was run.
    pub truncated: u64,
    /// How many have a path that depends on time or random numbers in a way that leaves open which
    /// one the kernel took.
    pub uncertain: u64,
    /// Packets that were captured without an Ethernet header, and their link type: one was made.
    pub converted: TraceFault,
    /// Packets that the kernel does not take.
    pub refused: TraceFault,
    /// Packets of which is not known what the interpreter would have to do to do what the kernel did.
    pub undecided: TraceFault,
    /// Packets on which kernel and interpreter disagree.
    pub disagreements: TraceFault,
    /// Whether the whole trace ran.
    pub complete: bool,
    /// Why the rest of it did not.
    pub ended: Option<String>,
    /// What maps held before the first packet.
    pub maps: Vec<TraceMap>,
    /// The paths, in the order in which packets took them first.
    pub paths: Vec<TracePath>,
    /// Of each packet, the number of its path, where that is known.
    pub taken: Vec<Option<u32>>,
}

/// Packets whose path is not known, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceFault {
    /// How many.
    pub packets: u64,
    /// Number of the first.
    pub first: Option<u64>,
    /// What was said of it, one line.
    pub what: Option<String>,
    /// All that it takes to see it again, but for the object file.
    pub report: Option<String>,
}

/// A path that packets of a trace take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TracePath {
    /// The path.
    pub path: PathId,
    /// How many packets take it.
    pub packets: u64,
    /// How many instructions it takes, a 64-bit immediate load as one.
    pub instructions: u64,
    /// What the program returns (`enum xdp_action`), for most of them.
    pub action: u32,
    /// Number of the first packet.
    pub first: u64,
    /// Number of the packet that stands for them, if one was kept with its maps.
    pub kept: Option<u64>,
}
