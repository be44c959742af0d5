//! Computes a bound without unrolling: for each loop, the cost of its most expensive iteration
//! times the number of iterations.
//!
//! This is the tree-based calculation of worst-case execution times (Puschner and Koza,
//! "Calculating the maximum execution time of real-time programs", 1989). Costs of loops are added
//! up from the innermost loop outwards, in time linear in the number of blocks and the nesting
//! depth. If a cost depends on preceding work, the bound uses the largest cost in any possible
//! context.

use crate::SearchError;
use slowpath_ir::{BlockId, Destination, FlowGraph, LoopId, Program};
use slowpath_stop::Stop;
use slowpath_target::{Context, CostModel, CostVector};
use std::collections::BTreeMap;

/// Returns an upper bound for the cost of any run on each component, including the fixed cost per
/// packet. Returns `None` if no path leaves the program.
///
/// For each loop of `flow`, `iterations` contains the maximum number of times that the loop's
/// header runs each time the loop is entered.
///
/// # Errors
///
/// Fails when `stop` holds.
pub fn structural_bound(
    program: &Program,
    flow: &FlowGraph,
    iterations: &[u64],
    model: &CostModel,
    stop: &Stop,
) -> Result<Option<CostVector>, SearchError> {
    let edges = heaviest_edges(program, model, stop)?;
    let nothing = model.zero();
    let mut bound = Structural { program, flow, edges, nothing, loops: Vec::new() };
    bound.loops.resize_with(flow.loops.len(), LoopCost::default);
    // Inner loops have larger numbers than the loops around them.
    for id in (0..flow.loops.len()).rev() {
        stop.check().map_err(SearchError::Stopped)?;
        let around = LoopId::from(id);
        let mut cost = bound.walk(Some(around));
        let again = iterations[id].saturating_sub(1);
        let before = cost.iteration.map_or(nothing, |iteration| times(iteration, again));
        cost.ways.values_mut().for_each(|way| *way += before);
        bound.loops[id] = cost;
    }
    let whole = bound.walk(None);
    let slowest = whole.ways.values().copied().reduce(|all, way| CostVector::max(&all, &way));
    Ok(slowest.map(|mut cost| {
        cost += model.overhead();
        cost
    }))
}

/// Returns an upper bound, on each component, for the cost of a run that executes `instructions`
/// instructions. The bound includes the fixed cost per packet.
///
/// The cost of a block is divided evenly among its instructions. If a block has a cost but no
/// instructions, the bound is infinite (saturated).
///
/// # Errors
///
/// Fails when `stop` holds.
pub fn instructions_bound(
    program: &Program,
    model: &CostModel,
    instructions: u64,
    stop: &Stop,
) -> Result<CostVector, SearchError> {
    let edges = heaviest_edges(program, model, stop)?;
    let mut heaviest = model.zero();
    for (block, edges) in program.blocks.iter().zip(&edges) {
        let here = block.insns.len() as u64;
        for cost in edges.iter().flatten() {
            for (component, &ticks) in cost.as_slice().iter().enumerate() {
                let each = match (ticks, here) {
                    (0, _) => 0,
                    (_, 0) => u64::MAX,
                    _ => ticks.div_ceil(here),
                };
                heaviest = heaviest.with(component, heaviest[component].max(each));
            }
        }
    }
    let mut bound = times(heaviest, instructions);
    bound += model.overhead();
    Ok(bound)
}

/// Cost of running a loop once, from entering it to leaving it.
#[derive(Default)]
struct LoopCost {
    /// Highest cost of an iteration that is followed by another one; `None` if there is no such
    /// iteration.
    iteration: Option<CostVector>,
    /// For each destination outside the loop, the highest total cost of all iterations of a run
    /// that leaves to it.
    ways: BTreeMap<LoopExit, CostVector>,
}

/// Destination of a run when it leaves a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LoopExit {
    Block(BlockId),
    Exit,
}

struct Structural<'a> {
    program: &'a Program,
    flow: &'a FlowGraph,
    /// For each edge of each block, the highest cost of the block and the edge together; `None` if
    /// the edge is unreachable.
    edges: Vec<[Option<CostVector>; 2]>,
    nothing: CostVector,
    /// Cost of each loop, by index; loops that have not been processed have no costs yet.
    loops: Vec<LoopCost>,
}

impl Structural<'_> {
    /// Computes the costs of the most expensive paths through one iteration of a loop. If `scope`
    /// is `None`, the paths lead through the whole program instead.
    fn walk(&self, scope: Option<LoopId>) -> LoopCost {
        let (blocks, header) = match scope {
            Some(id) => {
                let around = &self.flow.loops[id.index()];
                (&around.blocks, around.header)
            }
            None => (&self.flow.order, self.program.entry),
        };
        let mut found = LoopCost::default();
        let mut before: BTreeMap<BlockId, CostVector> = BTreeMap::from([(header, self.nothing)]);
        for &block in blocks {
            let Some(cost) = before.remove(&block) else { continue };
            let mut lead = |way, more: &CostVector| {
                let mut total = cost;
                total += more;
                let slot = match way {
                    LoopExit::Block(next) if scope.is_some() && next == header => {
                        found.iteration.get_or_insert(total)
                    }
                    LoopExit::Block(next) if self.is_inside(next, scope) => {
                        before.entry(next).or_insert(total)
                    }
                    way => found.ways.entry(way).or_insert(total),
                };
                *slot = CostVector::max(slot, &total);
            };
            match self.child(scope, block) {
                Some(inner) => {
                    self.loops[inner.index()].ways.iter().for_each(|(way, more)| lead(*way, more));
                }
                None => {
                    let terminator = &self.program.block(block).terminator;
                    for (edge, more) in terminator.edges().zip(&self.edges[block.index()]) {
                        let way = match edge.target {
                            Destination::Block(next) => LoopExit::Block(next),
                            Destination::Exit(_) => LoopExit::Exit,
                            Destination::Never => continue,
                        };
                        more.iter().for_each(|more| lead(way, more));
                    }
                }
            }
        }
        found
    }

    /// Returns the loop that is directly inside `scope` and begins with `block`.
    fn child(&self, scope: Option<LoopId>, block: BlockId) -> Option<LoopId> {
        let mut inner = self.flow.innermost[block.index()];
        while let Some(id) = inner.filter(|_| inner != scope) {
            let around = &self.flow.loops[id.index()];
            if around.parent == scope {
                return Some(id);
            }
            inner = around.parent;
        }
        None
    }

    /// Returns true if the block is part of the loop `scope`, or if `scope` is `None`.
    fn is_inside(&self, block: BlockId, scope: Option<LoopId>) -> bool {
        let mut around = self.flow.innermost[block.index()];
        while around != scope {
            let Some(id) = around else { return false };
            around = self.flow.loops[id.index()].parent;
        }
        true
    }
}

/// Returns, for each edge of each block, the highest cost of the block and the edge together, over
/// all contexts (parts of the past that affect costs) that a run can reach.
fn heaviest_edges(
    program: &Program,
    model: &CostModel,
    stop: &Stop,
) -> Result<Vec<[Option<CostVector>; 2]>, SearchError> {
    let mut heaviest = vec![[None, None]; program.blocks.len()];
    let mut contexts: Vec<Vec<Context>> = vec![Vec::new(); program.blocks.len()];
    let mut pending = vec![(program.entry, model.start())];
    contexts[program.entry.index()].push(model.start());
    while let Some((id, context)) = pending.pop() {
        stop.check().map_err(SearchError::Stopped)?;
        let block = program.block(id);
        let (mut spent, mut inside) = (model.zero(), context);
        for event in &block.costs {
            inside = model.step(inside, event.class.0, &mut spent);
        }
        for (edge, slot) in block.terminator.edges().zip(&mut heaviest[id.index()]) {
            let (mut cost, mut after) = (spent, inside);
            for event in &edge.costs {
                after = model.step(after, event.class.0, &mut cost);
            }
            *slot = Some(slot.map_or(cost, |known| CostVector::max(&known, &cost)));
            if let Destination::Block(next) = edge.target
                && !contexts[next.index()].contains(&after)
            {
                contexts[next.index()].push(after);
                pending.push((next, after));
            }
        }
    }
    Ok(heaviest)
}

/// Multiplies a cost by `count`. Results that are too large become the maximum number.
fn times(cost: CostVector, count: u64) -> CostVector {
    let mut product = cost;
    for (component, &ticks) in cost.as_slice().iter().enumerate() {
        product = product.with(component, ticks.saturating_mul(count));
    }
    product
}
