//! Reverse postorder: every block before those that it leads to, but for the ends of loops.

use super::{BlockId, Graph};

pub(super) fn reverse_postorder(graph: &Graph, entry: BlockId) -> Vec<BlockId> {
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
