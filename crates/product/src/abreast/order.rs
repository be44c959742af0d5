//! In which order blocks are gone through, so that ways that meet come to where they meet before it
//! is left: loops before what is behind them. Only how much work it is depends on it.

use slowpath_ir::{BlockId, Destination, FlowError, FlowGraph, LoopId, Program};

/// The order of a program's blocks, and where ways meet.
#[derive(Clone, Debug)]
pub struct Order {
    /// By block, its place in an order that both programs have in common.
    places: Vec<u32>,
    /// By block, its place among the program's own.
    own: Vec<u32>,
    /// By block, whether several others lead there.
    joins: Vec<bool>,
}

impl Order {
    /// The order of a program's own blocks.
    ///
    /// # Errors
    /// For a loop with several entries.
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

    /// The same where each block belongs to a place in the order of another program.
    #[must_use]
    pub fn at(self, places: Vec<u32>) -> Order {
        if places.len() == self.own.len() { Order { places, ..self } } else { self }
    }

    /// A block's place in the common order.
    pub fn place(&self, block: BlockId) -> u32 {
        self.places.get(block.index()).copied().unwrap_or(u32::MAX)
    }

    pub(super) fn joins(&self, block: BlockId) -> bool {
        self.joins.get(block.index()).copied().unwrap_or(false)
    }

    /// Whether a step leads back, into another round of a loop.
    pub(super) fn leads_back(&self, from: BlockId, to: BlockId) -> bool {
        let key = |block: BlockId| (self.place(block), self.own.get(block.index()));
        key(to) <= key(from)
    }
}

/// The blocks of a loop, or of the whole program, with inner loops as wholes.
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

/// The loop directly inside of a scope that an inner loop is part of.
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
