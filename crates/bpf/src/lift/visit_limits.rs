//! Collects the limits of the kernel on the number of times that a run visits a block. Each limit
//! belongs to the instruction that imposes it.

use std::collections::{BTreeMap, HashMap};

use slowpath_ir::{BlockId, VisitLimit};

use crate::lift::frame::ProgramPoint;

/// A block of the lifted program, given by its number, or by its start point while the number is
/// unknown.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum BlockOrPoint {
    Block(BlockId),
    Point(ProgramPoint),
}

/// A limit of the kernel: between two visits of the block `since`, a run visits `block` at most
/// `most` times. `by` names the kernel feature that imposes the limit.
#[derive(Clone, Debug)]
pub(in crate::lift) struct Limit {
    pub block: BlockOrPoint,
    pub since: BlockOrPoint,
    pub most: u64,
    pub by: String,
    pub condition: Option<String>,
}

/// All limits on visits of blocks, by the instruction that imposes each limit. If a block is lifted
/// several times, its last limit counts.
#[derive(Clone, Debug, Default)]
pub(in crate::lift) struct VisitLimits(BTreeMap<ProgramPoint, Limit>);

impl VisitLimits {
    pub fn set(&mut self, at: ProgramPoint, limit: Limit) {
        self.0.insert(at, limit);
    }

    /// Returns the limits, with blocks given by their numbers. Drops limits of blocks that do not
    /// exist.
    pub fn resolved(&self, ids: &HashMap<ProgramPoint, BlockId>) -> Vec<VisitLimit> {
        let id = |place| match place {
            BlockOrPoint::Block(id) => Some(id),
            BlockOrPoint::Point(point) => ids.get(&point).copied(),
        };
        let resolved = |limit: &Limit| {
            Some(VisitLimit {
                block: id(limit.block)?,
                reset_by: id(limit.since)?,
                max_visits: limit.most,
                by: limit.by.clone(),
                condition: limit.condition.clone(),
            })
        };
        self.0.values().filter_map(resolved).collect()
    }
}
