//! A bound without unrolling: the heaviest way through each loop's body, times its rounds.
//!
//! The tree-based calculation of worst-case execution times (Puschner and Koza, "Calculating the
//! maximum execution time of real-time programs", 1989): loops are summed up from the innermost
//! outwards, so that the work is linear in the blocks and in how deeply loops are nested. Costs
//! that depend on what came before are the largest in any context that can occur there.

use crate::SearchError;
use slowpath_ir::{BlockId, Destination, FlowGraph, LoopId, Program};
use slowpath_stop::Stop;
use slowpath_target::{Context, CostModel, CostVector};
use std::collections::BTreeMap;

/// What no run of a program costs more than, on each component, overhead included.
///
/// `rounds` has for each loop of `flow` how often its first block runs at most each time that the
/// loop is entered. `None` when no way leads out of the program.
///
/// # Errors
/// The reason to stop.
pub fn structural_bound(
    program: &Program,
    flow: &FlowGraph,
    rounds: &[u64],
    model: &CostModel,
    stop: &Stop,
) -> Result<Option<CostVector>, SearchError> {
    let edges = heaviest_edges(program, model, stop)?;
    let nothing = model.zero();
    let mut bound = Structural { program, flow, edges, nothing, loops: Vec::new() };
    bound.loops.resize_with(flow.loops.len(), LoopCost::default);
    // Outer loops come before those that they contain.
    for id in (0..flow.loops.len()).rev() {
        stop.check().map_err(SearchError::Stopped)?;
        let around = LoopId::from(id);
        let mut cost = bound.walk(Some(around));
        let again = rounds[id].saturating_sub(1);
        let before = cost.round.map_or(nothing, |round| times(round, again));
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

/// Bounds the cost of a run that executes so many instructions, on each component, with overhead.
///
/// Instructions of one block share its cost. What blocks without instructions of their own cost has
/// no such limit.
///
/// # Errors
/// The reason to stop.
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

/// What a loop costs, from where it is entered.
#[derive(Default)]
struct LoopCost {
    /// One round that leads to another.
    round: Option<CostVector>,
    /// All rounds, by where they lead in the end.
    ways: BTreeMap<Way, CostVector>,
}

/// Where control leaves a loop for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Block(BlockId),
    Exit,
}

struct Structural<'a> {
    program: &'a Program,
    flow: &'a FlowGraph,
    /// What each block with each of its edges costs at most; `None` where no run gets there.
    edges: Vec<[Option<CostVector>; 2]>,
    nothing: CostVector,
    /// What loops cost that are summed up already.
    loops: Vec<LoopCost>,
}

impl Structural<'_> {
    /// The heaviest ways through one round of a loop, or through the program.
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
                    Way::Block(next) if scope.is_some() && next == header => {
                        found.round.get_or_insert(total)
                    }
                    Way::Block(next) if self.is_inside(next, scope) => {
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
                            Destination::Block(next) => Way::Block(next),
                            Destination::Exit(_) => Way::Exit,
                            Destination::Never => continue,
                        };
                        more.iter().for_each(|more| lead(way, more));
                    }
                }
            }
        }
        found
    }

    /// The loop directly inside `scope` that begins with a block.
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

    /// Whether a block is part of a loop, or of the program.
    fn is_inside(&self, block: BlockId, scope: Option<LoopId>) -> bool {
        let mut around = self.flow.innermost[block.index()];
        while around != scope {
            let Some(id) = around else { return false };
            around = self.flow.loops[id.index()].parent;
        }
        true
    }
}

/// The largest cost of each block with each of its edges, over all contexts in which it can run.
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

/// A cost so many times.
fn times(cost: CostVector, count: u64) -> CostVector {
    let mut product = cost;
    for (component, &ticks) in cost.as_slice().iter().enumerate() {
        product = product.with(component, ticks.saturating_mul(count));
    }
    product
}
