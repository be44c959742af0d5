//! Report on the packets of a capture file that were run through a program, as data.

use serde::Serialize;
use slowpath_replay::PathId;

use super::start::TraceMap;

/// Report on the packets of a capture file that were run through a program. Packets and paths count
/// from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceReport {
    /// File format: `pcap` or `pcapng`.
    pub format: String,
    /// Number of packets read from the file.
    pub packets: u64,
    /// Number of packets that were captured only in part; the captured part was run.
    pub truncated: u64,
    /// Number of packets whose path depends on time or random numbers. The kernel may have taken
    /// another path than the interpreter for them.
    pub uncertain: u64,
    /// Packets that were captured without an Ethernet header, to which one was added, and their
    /// link type.
    pub converted: TraceFault,
    /// Packets on which the kernel cannot run the program, because of their length for example.
    pub refused: TraceFault,
    /// Packets for which the interpreter cannot determine the inputs that the kernel used, such as
    /// a clock's value.
    pub undecided: TraceFault,
    /// Packets for which kernel and interpreter give different results.
    pub disagreements: TraceFault,
    /// True if all packets of the file were read.
    pub complete: bool,
    /// Reason why the rest of the file was not read; null if all of it was read or reading goes on.
    pub ended: Option<String>,
    /// Code of the cause of `ended`; null without it.
    pub code: Option<String>,
    /// Maps of the program, with the number of elements that they had before the first packet.
    pub maps: Vec<TraceMap>,
    /// Paths that the packets took, in the order of their first packets.
    pub paths: Vec<TracePath>,
    /// For each packet, the number of its path; null if it is unknown.
    pub taken: Vec<Option<u32>>,
}

/// Packets of a trace that have the same kind of problem, such as an unknown path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceFault {
    /// Number of packets with this problem.
    pub packets: u64,
    /// Number of the first packet with this problem; null if there is none.
    pub first: Option<u64>,
    /// Description of the problem with the first packet, in one line.
    pub what: Option<String>,
    /// All data to reproduce the problem with the first packet, except the object file; null if it
    /// cannot be reproduced.
    pub report: Option<String>,
}

/// A path that packets of a trace take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TracePath {
    /// Identifier of the path.
    #[cfg_attr(test, schemars(with = "String"))]
    pub path: PathId,
    /// Number of packets that took the path.
    pub packets: u64,
    /// Number of executed instructions; a 64-bit immediate load counts as one.
    pub instructions: u64,
    /// Most frequent return value of the program on the path (`enum xdp_action`).
    pub action: u32,
    /// Number of the first packet that took the path.
    pub first: u64,
    /// Number of the example packet of this path, which was kept with the map content before it;
    /// null if none was kept.
    pub kept: Option<u64>,
}
