//! Limits of the kernel on the number of visits of a block, by instruction.

use std::collections::{BTreeMap, HashMap};

use slowpath_ir::{BlockId, VisitLimit};

use crate::lift::frame::ProgramPoint;

/// A lifted block, or the point where one begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum BlockOrPoint {
    Block(BlockId),
    Point(ProgramPoint),
}

/// Maximum number of visits of a block since another block was visited, and the kernel feature that
/// imposes it.
#[derive(Clone, Debug)]
pub(in crate::lift) struct Limit {
    pub block: BlockOrPoint,
    pub since: BlockOrPoint,
    pub most: u64,
    pub by: String,
    pub condition: Option<String>,
}

/// Limits by instruction; if a block is lifted several times, the last limit counts.
#[derive(Clone, Debug, Default)]
pub(in crate::lift) struct VisitLimits(BTreeMap<ProgramPoint, Limit>);

impl VisitLimits {
    /// Sets the limit that an instruction imposes.
    pub fn set(&mut self, at: ProgramPoint, limit: Limit) {
        self.0.insert(at, limit);
    }

    /// Returns the limits, after all blocks have numbers.
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
