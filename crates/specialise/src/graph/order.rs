//! Sorts the blocks of a graph in reverse postorder. Each block comes before all blocks that can
//! follow it, except along the back edges of loops.

use super::types::{Block, BlockId, End, FunctionId, Graph};

impl Graph {
    /// Returns the reachable blocks of a function in reverse postorder.
    pub fn order(&self, function: FunctionId) -> Vec<BlockId> {
        reverse_postorder(self, self.functions[function].1)
    }

    /// Returns the number of instructions in reachable blocks of the entry function, without
    /// unconditional jumps.
    pub fn size(&self) -> usize {
        let blocks = self.order(0).into_iter().map(|block| &self.blocks[block]);
        let length =
            |block: &Block| block.insns.len() + usize::from(!matches!(block.end, End::Jump(_)));
        blocks.map(length).sum()
    }
}

fn reverse_postorder(graph: &Graph, entry: BlockId) -> Vec<BlockId> {
    let mut seen = vec![false; graph.blocks.len()];
    let mut order = Vec::new();
    let mut work = vec![(entry, false)];
    while let Some((block, done)) = work.pop() {
        if done {
            order.push(block);
            continue;
        }
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        work.push((block, true));
        // The successor that is pushed last is visited first and comes last in the order. So the
        // fall-through successor of a branch directly follows the branch and needs no jump.
        work.extend(graph.blocks[block].end.successors().map(|next| (next, false)));
    }
    order.reverse();
    order
}
