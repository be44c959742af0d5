//! Memory, inputs and results of a translation, by their meaning.

use std::collections::HashMap;

use slowpath_ir::{InputId, RegionId};

use crate::code::Lookup;

/// Name of the result of a lookup.
pub const OUTCOME: &str = "outcome";
/// Name of the result that says which entry matches.
pub const ENTRY: &str = "number of the entry";
/// Name of the result of a selector.
pub const MEMBER: &str = "member";
/// Name of the result of a hash function.
pub const HASH: &str = "hash";
/// Name of the result of a meter.
pub const COLOUR: &str = "colour";

/// Work of DPDK's interpreter in one event of a cost class, for estimates of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Name of its price: the instruction, such as `extract`, with `.next` if DPDK runs it together
    /// with the instruction before it; or `table.KIND.hit` and `table.KIND.miss`. The kinds are
    /// those of DPDK's tables, which look up `lpm` keys in wildcard tables.
    pub price: String,
    /// The table or learner that is looked up, by its number in [`Layout::lookups`].
    pub lookup: Option<usize>,
}

/// Regions, inputs and instructions of a translation, by their meaning.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Region of the packet.
    pub packet: RegionId,
    /// Region of the metadata.
    pub metadata: RegionId,
    /// Region of the headers outside packets.
    pub headers: RegionId,
    /// Region of the headers in earlier packets.
    pub earlier: RegionId,
    /// Offset of each header in both regions.
    pub rooms: Vec<u64>,
    /// Regions of the register arrays.
    pub arrays: Vec<RegionId>,
    /// Regions with action data, by pass and number of the instruction `table` in `apply`.
    pub action_data: HashMap<(u32, usize), RegionId>,
    /// Input with the number of the port.
    pub port: InputId,
    /// Input that is 1 if the last lookup for an earlier packet was a hit.
    pub hit: InputId,
    /// Input with the number of the action of this lookup.
    pub action: InputId,
    /// Input with the number of the entry of this lookup.
    pub entry: InputId,
    /// Tables and learners with their possible outcomes.
    pub lookups: Vec<Lookup>,
    /// Number of the first instruction of each action, then of `apply`.
    pub firsts: Vec<u32>,
    /// Work of each cost class.
    pub work: Vec<Work>,
}
