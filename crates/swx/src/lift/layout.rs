//! Describes the memory regions and inputs of a lifted pipeline, and the values that a run gets
//! from outside (drawn values).

use std::collections::HashMap;

use slowpath_ir::{InputId, RegionId};

use crate::code::Lookup;

/// Name of the drawn value that chooses the result of a table lookup.
pub const OUTCOME: &str = "outcome";
/// Name of the drawn value for the number of the matching entry.
pub const ENTRY: &str = "number of the entry";
/// Name of the drawn value for the member that a selector chooses.
pub const MEMBER: &str = "member";
/// Name of the drawn value for a hash.
pub const HASH: &str = "hash";
/// Name of the drawn value for the colour of a meter.
pub const COLOUR: &str = "colour";

/// Work of DPDK's interpreter for one event of a cost class, for time estimates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Name under which the target states the time: an instruction such as `extract`, with `.next`
    /// if DPDK executes it together with the instruction before it; or `table.KIND.hit` and
    /// `table.KIND.miss`. KIND is the type of DPDK's table. DPDK looks `lpm` keys up in wildcard
    /// tables.
    pub price: String,
    /// Index of the looked-up table or learner in [`Layout::lookups`]; `None` for other work.
    pub lookup: Option<usize>,
}

/// Meaning of the regions, inputs and instructions of a lifted pipeline.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Region of the packet.
    pub packet: RegionId,
    /// Region of the metadata.
    pub metadata: RegionId,
    /// Region with the memory of headers outside of packets.
    pub headers: RegionId,
    /// Region with the memory that headers had for an earlier packet.
    pub earlier: RegionId,
    /// Offset in bytes of each header in the regions `headers` and `earlier`.
    pub rooms: Vec<u64>,
    /// Region of each register array.
    pub arrays: Vec<RegionId>,
    /// Regions with action data, by number of the pass and index of the instruction `table` in
    /// `apply`.
    pub action_data: HashMap<(u32, usize), RegionId>,
    /// Input with the number of the packet's input port.
    pub port: InputId,
    /// Input that is 1 if the last lookup for an earlier packet was a hit.
    pub hit: InputId,
    /// Input with the index of the action that the last lookup for an earlier packet selected.
    pub action: InputId,
    /// Input with the number of the entry that the last lookup for an earlier packet found.
    pub entry: InputId,
    /// Tables and learners with the possible results of their lookups.
    pub lookups: Vec<Lookup>,
    /// Index of the first instruction of each function: the actions, then `apply`.
    pub firsts: Vec<u32>,
    /// Work of each cost class, by its index.
    pub work: Vec<Work>,
}
