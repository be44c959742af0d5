//! Chooses the order in which blocks are executed. Before execution continues after a merge, all
//! paths that lead to the merge are followed. Loops come before the blocks after them. The order
//! changes only the amount of work, not the results.

use slowpath_ir::{BlockId, Destination, FlowError, FlowGraph, LoopId, Program};

/// The execution order of a program's blocks, and the blocks with several predecessors.
#[derive(Clone, Debug)]
pub struct Order {
    /// Position of each block in an order that both programs share.
    places: Vec<u32>,
    /// Position of each block in the program's own order.
    own: Vec<u32>,
    /// True for each block with several incoming edges.
    joins: Vec<bool>,
}

impl Order {
    /// Computes the order of a program's blocks.
    ///
    /// # Errors
    /// If a loop has several entries.
    pub fn of(program: &Program) -> Result<Order, FlowError> {
        let flow = FlowGraph::of(program)?;
        let mut laid = Vec::with_capacity(flow.order.len());
        lay_out(&flow, None, &mut laid);
        let mut own = vec![u32::MAX; program.blocks.len()];
        let mut arriving = vec![0_u32; program.blocks.len()];
        for (place, &block) in (0..).zip(&laid) {
            own[block.index()] = place;
            for edge in program.block(block).terminator.edges() {
                if let Destination::Block(next) = edge.target {
                    arriving[next.index()] += 1;
                }
            }
        }
        let joins = arriving.iter().map(|&count| count > 1).collect();
        Ok(Order { places: own.clone(), own, joins })
    }

    /// Sets the order that both programs share: `places` contains the position of each block in it.
    /// Does nothing if the length of `places` is wrong.
    #[must_use]
    pub fn at(self, places: Vec<u32>) -> Order {
        if places.len() == self.own.len() { Order { places, ..self } } else { self }
    }

    /// Returns a block's position in the shared order.
    pub fn place(&self, block: BlockId) -> u32 {
        self.places.get(block.index()).copied().unwrap_or(u32::MAX)
    }

    pub(super) fn joins(&self, block: BlockId) -> bool {
        self.joins.get(block.index()).copied().unwrap_or(false)
    }

    /// Returns true if an edge leads back to the start of a loop, for its next iteration.
    pub(super) fn leads_back(&self, from: BlockId, to: BlockId) -> bool {
        let key = |block: BlockId| (self.place(block), self.own.get(block.index()));
        key(to) <= key(from)
    }
}

/// Appends the blocks of the loop `scope` to `laid`, in execution order; with `None`, the blocks of
/// the whole program. The blocks of an inner loop stay together.
fn lay_out(flow: &FlowGraph, scope: Option<LoopId>, laid: &mut Vec<BlockId>) {
    let blocks = scope.map_or(&flow.order, |id| &flow.loops[id.index()].blocks);
    for &block in blocks {
        let innermost = flow.innermost[block.index()];
        if innermost == scope {
            laid.push(block);
        } else if let Some(inner) = child(flow, scope, innermost)
            && flow.loops[inner.index()].header == block
        {
            lay_out(flow, Some(inner), laid);
        }
    }
}

/// Returns the loop directly inside `scope` that contains the loop `inner` or is equal to it. The
/// scope `None` stands for the whole program.
fn child(flow: &FlowGraph, scope: Option<LoopId>, inner: Option<LoopId>) -> Option<LoopId> {
    let mut current = inner?;
    loop {
        let parent = flow.loops[current.index()].parent;
        if parent == scope {
            return Some(current);
        }
        current = parent?;
    }
}
