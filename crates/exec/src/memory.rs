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
        /// Where this store and those right before it wrote, when that is simple.
        span: Option<Span>,
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

/// A run of stores to constant offsets of one region: a read elsewhere need not look at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    region: RegionId,
    /// The first byte written and the one behind the last.
    bytes: (u64, u64),
    /// The state of memory before the run.
    before: MemId,
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

    /// The span of a store of `bytes` bytes at a constant offset.
    pub fn extend_span(&self, prev: MemId, region: RegionId, offset: u64, bytes: u64) -> Span {
        let end = offset.saturating_add(bytes);
        match self.node(prev) {
            MemNode::Store { span: Some(span), .. } if span.region == region => {
                let (first, last) = span.bytes;
                Span { bytes: (first.min(offset), last.max(end)), ..*span }
            }
            _ => Span { region, bytes: (offset, end), before: prev },
        }
    }

    /// The state of memory behind all stores at the top that cannot have written the `bytes` bytes
    /// at a constant offset of a region (any offset, if it is not constant).
    pub fn skip(
        &self,
        mut memory: MemId,
        region: RegionId,
        offset: Option<u64>,
        bytes: u64,
    ) -> MemId {
        while let MemNode::Store { span: Some(span), .. } = self.node(memory) {
            let beside = offset.is_some_and(|offset| {
                offset >= span.bytes.1 || offset.saturating_add(bytes) <= span.bytes.0
            });
            if span.region == region && !beside {
                break;
            }
            memory = span.before;
        }
        memory
    }

    pub fn node(&self, id: MemId) -> &MemNode {
        &self.nodes[id.0 as usize]
    }
}
