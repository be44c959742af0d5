//! Symbolic memory: a chain of stores with merges, shared by all regions.
//!
//! Addresses are (region, offset) where the pointer's region is known, which it is in programs
//! that a verifier accepted (the segmented memory model of "throughput guarantees", § 5.5).

use slowpath_ir::RegionId;
use slowpath_smt::TermId;

/// A state of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemId(pub(crate) u32);

/// Where an address points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The region.
    pub region: RegionId,
    /// Offset from the region's first byte, as wide as an address.
    pub offset: TermId,
}

/// How a state of memory came to be.
#[derive(Clone, Debug)]
pub(crate) enum MemNode {
    /// The unknown content at the start.
    Initial,
    /// `prev` with `value` stored, little-endian.
    Store {
        prev: MemId,
        /// The address as a term.
        address: TermId,
        /// Where it points, when that is the same on every path.
        location: Option<Location>,
        value: TermId,
        /// The instruction, for messages.
        insn: u32,
    },
    /// What arrives at a point over one of several arcs.
    Merge { point: u32, incoming: Vec<(u32, MemId)> },
}

/// All states of memory of one analysis.
#[derive(Debug)]
pub(crate) struct MemPool {
    nodes: Vec<MemNode>,
}

impl MemPool {
    pub const INITIAL: MemId = MemId(0);

    pub fn new() -> Self {
        MemPool { nodes: vec![MemNode::Initial] }
    }

    pub fn push(&mut self, node: MemNode) -> MemId {
        self.nodes.push(node);
        MemId((self.nodes.len() - 1) as u32)
    }

    pub fn node(&self, id: MemId) -> &MemNode {
        &self.nodes[id.0 as usize]
    }
}
