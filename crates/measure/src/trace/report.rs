//! Report on a trace, as data.

use serde::Serialize;
use slowpath_replay::PathId;

use super::start::TraceMap;

/// Report on a trace. Packets and paths count from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceReport {
    /// File format: `pcap` or `pcapng`.
    pub format: String,
    /// Number of packets read.
    pub packets: u64,
    /// Number of packets that were captured only in part; the captured part was run.
    pub truncated: u64,
    /// Number of packets whose path depends on time or random numbers, so that the kernel may have
    /// taken another one.
    pub uncertain: u64,
    /// Packets that were captured without an Ethernet header, and their link type; a header was
    /// added.
    pub converted: TraceFault,
    /// Packets that the kernel does not accept.
    pub refused: TraceFault,
    /// Packets for which the interpreter cannot determine the inputs that the kernel used, such as
    /// a clock's value.
    pub undecided: TraceFault,
    /// Packets on which kernel and interpreter disagree.
    pub disagreements: TraceFault,
    /// True if the whole trace was run.
    pub complete: bool,
    /// Reason why the rest of the trace was not run.
    pub ended: Option<String>,
    /// Initial content of maps, before the first packet.
    pub maps: Vec<TraceMap>,
    /// Paths, in the order of their first packets.
    pub paths: Vec<TracePath>,
    /// For each packet the number of its path, if known.
    pub taken: Vec<Option<u32>>,
}

/// Packets whose path is unknown for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceFault {
    /// Number of packets.
    pub packets: u64,
    /// Number of the first such packet.
    pub first: Option<u64>,
    /// Description of the problem with the first one, in one line.
    pub what: Option<String>,
    /// All data to reproduce the problem, except the object file.
    pub report: Option<String>,
}

/// A path that packets of a trace take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TracePath {
    /// The path.
    #[cfg_attr(test, schemars(with = "String"))]
    pub path: PathId,
    /// Number of packets on the path.
    pub packets: u64,
    /// Number of instructions of the path; a 64-bit immediate load counts as one.
    pub instructions: u64,
    /// Most frequent return value of the program (`enum xdp_action`).
    pub action: u32,
    /// Number of the first packet on the path.
    pub first: u64,
    /// Number of the packet that was kept as an example together with its maps, if any.
    pub kept: Option<u64>,
}
