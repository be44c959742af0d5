//! Finds natural loops in a control-flow graph. A natural loop has an edge back to its header, a
//! block that every path to this edge passes. The loop contains the blocks between header and edge.

use super::types::{BlockId, FunctionId, Graph};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// Block through which control enters the loop.
    pub header: BlockId,
    pub blocks: BTreeSet<BlockId>,
}

impl Graph {
    /// Returns the natural loops of a function. Inner loops come before the loops around them.
    /// Returns `None` if a loop has several entries.
    pub fn loops(&self, function: FunctionId) -> Option<Vec<Loop>> {
        of(self, &self.order(function))
    }
}

/// Returns the natural loops among blocks that are in reverse postorder. Inner loops come before
/// the loops around them. Returns `None` if a loop has several entries.
fn of(graph: &Graph, order: &[BlockId]) -> Option<Vec<Loop>> {
    let place: BTreeMap<BlockId, usize> = order.iter().enumerate().map(|(n, &b)| (b, n)).collect();
    let mut predecessors = vec![Vec::new(); order.len()];
    for (from, &block) in order.iter().enumerate() {
        for next in graph.blocks[block].end.successors() {
            predecessors[place[&next]].push(from);
        }
    }
    let dominators = dominators(&predecessors);
    let dominates = |above: usize, mut block: usize| {
        while block > above {
            block = dominators[block];
        }
        block == above
    };
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (header, into) in predecessors.iter().enumerate() {
        for &from in into.iter().filter(|&&from| from >= header) {
            if !dominates(header, from) {
                return None;
            }
            let body = loops.entry(header).or_insert_with(|| BTreeSet::from([header]));
            let mut work = vec![from];
            while let Some(block) = work.pop() {
                if body.insert(block) {
                    work.extend(&predecessors[block]);
                }
            }
        }
    }
    let mut loops: Vec<(usize, BTreeSet<usize>)> = loops.into_iter().collect();
    loops.sort_by_key(|(header, body)| (body.len(), *header));
    let named = |(header, body): (usize, BTreeSet<usize>)| Loop {
        header: order[header],
        blocks: body.into_iter().map(|block| order[block]).collect(),
    };
    Some(loops.into_iter().map(named).collect())
}

/// Returns the immediate dominator of each block (Cooper, Harvey and Kennedy, "A simple, fast
/// dominance algorithm", 2001). Blocks are given by their index in reverse postorder.
fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut above = vec![NONE; predecessors.len()];
    if let Some(entry) = above.first_mut() {
        *entry = 0;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..predecessors.len() {
            let mut known = predecessors[block].iter().copied().filter(|&from| above[from] != NONE);
            let Some(first) = known.next() else { continue };
            let meet = known.fold(first, |mut a, mut b| {
                while a != b {
                    if a < b {
                        std::mem::swap(&mut a, &mut b);
                    }
                    a = above[a];
                }
                a
            });
            changed |= std::mem::replace(&mut above[block], meet) != meet;
        }
    }
    above
}
