//! Reverse postorder: every block before those that it leads to, but for the ends of loops.

use super::types::{Block, BlockId, End, FunctionId, Graph};

impl Graph {
    /// The blocks that control can get to within a function, in reverse postorder.
    pub fn order(&self, function: FunctionId) -> Vec<BlockId> {
        reverse_postorder(self, self.functions[function].1)
    }

    /// How many instructions control can get to, with jumps as [`Graph::emit`] has to add them not
    /// counted.
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
        // The last one is followed first, and so ends up furthest behind: a branch's other way, to
        // which no jump is needed, comes right behind it.
        work.extend(graph.blocks[block].end.successors().map(|next| (next, false)));
    }
    order.reverse();
    order
}
