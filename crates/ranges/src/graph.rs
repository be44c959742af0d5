//! Computes the order of blocks and the back edges. Unlike [`slowpath_ir::FlowGraph`], this works
//! for every graph: a loop with several entries has several heads.

use slowpath_ir::{BlockId, Destination, Program};

/// Reachable blocks and the edges between them.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Reachable blocks in reverse postorder.
    pub order: Vec<usize>,
    /// Position of each block in `order`; `usize::MAX` for unreachable blocks.
    pub position: Vec<usize>,
    /// Incoming edges of each block. An edge is given by the block that it leaves and its index
    /// among the edges of that block.
    pub incoming: Vec<Vec<(usize, usize)>>,
    /// For each block, true if it is the target of a back edge. Every cycle contains such a block.
    pub heads: Vec<bool>,
}

impl Graph {
    pub fn of(program: &Program) -> Self {
        let blocks = program.blocks.len();
        let order: Vec<usize> =
            program.reverse_postorder().into_iter().map(BlockId::index).collect();
        let mut position = vec![usize::MAX; blocks];
        order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
        let mut incoming = vec![Vec::new(); blocks];
        let mut heads = vec![false; blocks];
        for &block in &order {
            for (index, next) in successors(program, block) {
                incoming[next].push((block, index));
                heads[next] |= position[next] <= position[block];
            }
        }
        Graph { order, position, incoming, heads }
    }

    /// Returns the blocks of the loop with the head `head`. From each of them, a path leads to a
    /// back edge to `head` without passing through `head`.
    pub fn blocks_of_loop(&self, head: usize) -> Vec<usize> {
        let mut found = vec![head];
        let mut seen = vec![false; self.position.len()];
        seen[head] = true;
        let mut at = 0;
        while let Some(&block) = found.get(at) {
            at += 1;
            for &(from, _) in &self.incoming[block] {
                if self.position[from] >= self.position[head] && !seen[from] {
                    seen[from] = true;
                    found.push(from);
                }
            }
        }
        found
    }
}

/// Returns the edges of a block that lead to blocks and not out of the program. Each has its index
/// and its target block.
pub(crate) fn successors(
    program: &Program,
    block: usize,
) -> impl Iterator<Item = (usize, usize)> + '_ {
    let edges = program.blocks[block].terminator.edges().enumerate();
    edges.filter_map(|(index, edge)| match edge.target {
        Destination::Block(next) => Some((index, next.index())),
        Destination::Exit(_) | Destination::Never => None,
    })
}
