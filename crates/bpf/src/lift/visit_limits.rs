//! Limits of the kernel on how often blocks run, by the instruction that each is about.

use std::collections::{BTreeMap, HashMap};

use slowpath_ir::{BlockId, VisitLimit};

use crate::lift::frame::ProgramPoint;

/// A block that has been lifted, or the point where one begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) enum Place {
    Block(BlockId),
    Point(ProgramPoint),
}

/// Most runs of a block since another block ran, and the kernel feature that sets it.
#[derive(Clone, Debug)]
pub(in crate::lift) struct Limit {
    pub block: Place,
    pub since: Place,
    pub most: u64,
    pub by: String,
    pub condition: Option<String>,
}

/// Limits by the instruction that they are about; blocks are lifted again, and the last time counts.
#[derive(Clone, Debug, Default)]
pub(in crate::lift) struct VisitLimits(BTreeMap<ProgramPoint, Limit>);

impl VisitLimits {
    /// Sets the limit that an instruction stands for.
    pub fn set(&mut self, at: ProgramPoint, limit: Limit) {
        self.0.insert(at, limit);
    }

    /// The limits, once all blocks have numbers.
    pub fn resolved(&self, ids: &HashMap<ProgramPoint, BlockId>) -> Vec<VisitLimit> {
        let id = |place| match place {
            Place::Block(id) => Some(id),
            Place::Point(point) => ids.get(&point).copied(),
        };
        let resolved = |limit: &Limit| {
            Some(VisitLimit {
                block: id(limit.block)?,
                since: id(limit.since)?,
                most: limit.most,
                by: limit.by.clone(),
                condition: limit.condition.clone(),
            })
        };
        self.0.values().filter_map(resolved).collect()
    }
}
