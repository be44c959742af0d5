//! The order of blocks and the backward edges. Unlike [`slowpath_ir::FlowGraph`], this is for any
//! graph: a loop with several entries has several heads.

use slowpath_ir::{Destination, Program};

/// Reachable blocks and the edges between them.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Reachable blocks in reverse postorder.
    pub order: Vec<usize>,
    /// Places in this order; blocks without edges to them have none.
    pub position: Vec<usize>,
    /// Edges into each block: block and index of the edge.
    pub incoming: Vec<Vec<(usize, usize)>>,
    /// Targets of backward edges: every cycle has one.
    pub heads: Vec<bool>,
}

impl Graph {
    pub fn of(program: &Program) -> Self {
        let blocks = program.blocks.len();
        let order = reverse_postorder(program);
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

    /// The blocks from which a backward edge to `head` can be reached without passing it.
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

/// The edges of a block that lead to blocks: index and target.
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

fn reverse_postorder(program: &Program) -> Vec<usize> {
    let mut seen = vec![false; program.blocks.len()];
    let mut postorder = Vec::new();
    let entry = program.entry.index();
    let mut stack = vec![(entry, successors(program, entry))];
    seen[entry] = true;
    while let Some((block, rest)) = stack.last_mut() {
        match rest.next() {
            Some((_, next)) if !seen[next] => {
                seen[next] = true;
                stack.push((next, successors(program, next)));
            }
            Some(_) => {}
            None => {
                postorder.push(*block);
                stack.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}
