//! Computes the states of blocks by fixed-point iteration.
//!
//! Blocks are processed in reverse postorder. A block's state is recomputed from the states of all
//! incoming edges, except at targets of back edges. There, the state only grows: it is joined for a
//! few visits, then widened. Every cycle has such a target, so the iteration terminates.
//! Afterwards, passes without widening make the states more precise. This is sound, because a state
//! that holds on all edges into a block holds in the block, whatever its previous state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slowpath_domain::Domain;
use slowpath_ir::{BlockId, Destination, Liveness, Program, Reg, Terminator};

use slowpath_stop::{Reason, Stop};

use crate::entry::Entry;
use crate::graph::{Graph, successors};
use crate::loops::Loop;
use crate::options::{Options, Setting};
use crate::refine;
use crate::state::AbstractState;
use crate::value_number::{NumberedValue, ValueNumber};

/// Number of visits of a loop head after which bounds are widened to the constants that the loop
/// compares with.
const JOINED: u32 = 3;
/// Number of visits of a loop head after which bounds that still grow are dropped.
const WIDENED: u32 = 24;
/// Number of visits of a loop head after which the analysis stops using this rule: a loop keeps the
/// registers that it does not write. The rule can make values smaller again; without it, values
/// only grow and the iteration terminates.
const GIVEN_UP: u32 = 200;
/// Maximum number of passes that restore precision lost by widening.
const NARROWING: usize = 3;

/// The result of the iteration. Each list has one entry for each block.
pub(crate) struct Solution {
    pub entries: Vec<Option<Arc<Entry>>>,
    pub edges: Vec<[bool; 2]>,
    /// For each block, the registers whose values are kept at its start, in ascending order.
    pub kept: Vec<Vec<Reg>>,
}

struct Fixpoint<'a> {
    program: &'a Program,
    setting: Setting<'a>,
    /// For each block, true if the analysis follows both edges after it, even if it knows the
    /// branch condition.
    undecided: Vec<bool>,
    kept: Vec<Vec<Reg>>,
    graph: Graph,
    /// The loops, by the number of their head block.
    loops: BTreeMap<usize, Loop>,
    start: Arc<Entry>,
    entries: Vec<Option<Arc<Entry>>>,
    edges: Vec<[Option<Arc<Entry>>; 2]>,
    visits: Vec<u32>,
}

/// Computes the states of all blocks; fails if `stop` triggers.
pub(crate) fn solve(program: &Program, options: &Options, stop: &Stop) -> Result<Solution, Reason> {
    let mut fixpoint = Fixpoint::new(program, options);
    fixpoint.ascend(stop)?;
    for _ in 0..NARROWING {
        if !fixpoint.descend(stop)? {
            break;
        }
    }
    let edges = fixpoint.edges.iter().map(|edges| [edges[0].is_some(), edges[1].is_some()]);
    Ok(Solution { edges: edges.collect(), entries: fixpoint.entries, kept: fixpoint.kept })
}

impl<'a> Fixpoint<'a> {
    fn new(program: &'a Program, options: &Options) -> Self {
        let setting = Setting { program, memory: options.memory };
        let blocks = program.blocks.len();
        let liveness = Liveness::of(program);
        let mut requested = vec![false; program.regs.len()];
        options.keep.iter().for_each(|reg| requested[reg.index()] = true);
        let mut undecided = vec![false; blocks];
        options.undecided.iter().for_each(|block| undecided[block.index()] = true);
        let kept: Vec<Vec<Reg>> = (0..blocks)
            .map(|block| {
                let mut kept = requested.clone();
                for reg in liveness.live_in(BlockId::from(block)) {
                    kept[reg.index()] = true;
                }
                (0..kept.len()).filter(|&r| kept[r]).map(Reg::from).collect()
            })
            .collect();
        let graph = Graph::of(program);
        let heads = (0..blocks).filter(|&block| graph.heads[block]);
        let loops = heads.map(|head| (head, Loop::of(program, &graph, head))).collect();
        let mut state = AbstractState::unknown(program);
        program.prologue.iter().for_each(|origin| state.step(&setting, &origin.op));
        let start = Entry::of(&state, &state.values, &kept[program.entry.index()]);
        Fixpoint {
            program,
            setting,
            undecided,
            kept,
            graph,
            loops,
            start: Arc::new(start),
            entries: vec![None; blocks],
            edges: vec![[None, None]; blocks],
            visits: vec![0; blocks],
        }
    }

    /// Propagates states along edges until no state changes.
    fn ascend(&mut self, stop: &Stop) -> Result<(), Reason> {
        // Process the earliest block in reverse postorder first. A block then waits for the changes
        // on all its incoming forward edges, and is executed once for all of them.
        let mut waiting = BTreeSet::from([self.graph.position[self.program.entry.index()]]);
        while let Some(at) = waiting.pop_first() {
            stop.check()?;
            let block = self.graph.order[at];
            let Some(incoming) = self.incoming(block) else { continue };
            let entry = match &self.entries[block] {
                // For termination, the states of heads must grow. In other blocks, the old state is
                // dropped: it may come from a wider state of a head that `with_constants` has since
                // narrowed.
                Some(old) if self.graph.heads[block] => {
                    self.with_constants(block, Arc::new(self.grown(block, old, &incoming)))
                }
                _ => incoming,
            };
            if self.entries[block].as_ref() == Some(&entry) {
                continue;
            }
            self.visits[block] = self.visits[block].saturating_add(1);
            self.entries[block] = Some(entry);
            for next in self.execute(block) {
                waiting.insert(self.graph.position[next]);
            }
        }
        Ok(())
    }

    /// Recomputes the states of all blocks once, without widening. Returns true if a state changed.
    fn descend(&mut self, stop: &Stop) -> Result<bool, Reason> {
        let mut changed = vec![false; self.program.blocks.len()];
        let mut any = false;
        for block in self.graph.order.clone() {
            stop.check()?;
            // The state of a head was widened, so recomputing it can make it smaller even if no
            // incoming edge changed.
            let is_head = self.graph.heads[block];
            if !is_head && !self.graph.incoming[block].iter().any(|&(from, _)| changed[from]) {
                continue;
            }
            let entry = self.incoming(block).map(|entry| self.with_constants(block, entry));
            if self.entries[block] == entry {
                continue;
            }
            // This is sound in any order: each state is a join of edge states that hold, and the
            // transfer function preserves this. One pass is therefore valid even if further passes
            // would improve it.
            (changed[block], any) = (true, true);
            self.entries[block] = entry;
            self.execute(block);
        }
        Ok(any)
    }

    /// Returns the join of the states on all incoming edges of a block; `None` if no run can take
    /// any of these edges.
    fn incoming(&self, block: usize) -> Option<Arc<Entry>> {
        self.joined(block, |_| true)
    }

    /// Returns the join of the states on incoming edges from blocks that `from` accepts; `None` if
    /// no run can take any of these edges.
    fn joined(&self, block: usize, from: impl Fn(usize) -> bool) -> Option<Arc<Entry>> {
        let start = (block == self.program.entry.index()).then(|| self.start.clone());
        let edges = self.graph.incoming[block].iter().filter(|&&(other, _)| from(other));
        let states = edges.filter_map(|&(other, index)| self.edges[other][index].clone());
        start.into_iter().chain(states).reduce(|all, next| {
            if Arc::ptr_eq(&all, &next) { all } else { Arc::new(all.join(&next, None)) }
        })
    }

    /// Returns the new state of a loop head: the join of its old state and the state `new`, widened
    /// according to the number of visits.
    fn grown(&self, block: usize, old: &Entry, new: &Entry) -> Entry {
        let thresholds = self.loops.get(&block).map_or(&[][..], |l| &l.thresholds);
        match self.visits[block] {
            0..JOINED => old.join(new, None),
            JOINED..WIDENED => old.join(new, Some(thresholds)),
            _ => old.join(new, Some(&[])),
        }
    }

    /// Returns the state of a loop head, in which registers that the loop does not write are
    /// restricted to their values before the loop.
    fn with_constants(&self, block: usize, entry: Arc<Entry>) -> Arc<Entry> {
        let Some(current_loop) = self.loops.get(&block).filter(|_| self.visits[block] < GIVEN_UP)
        else {
            return entry;
        };
        let Some(written) = &current_loop.written else { return entry };
        // Every iteration starts with these registers unchanged, because the head is the only entry
        // of the loop.
        let Some(before) = self.joined(block, |from| !current_loop.contains(from)) else {
            return entry;
        };
        let mut entry = Arc::unwrap_or_clone(entry);
        entry.restrict(&before, |reg| !written[reg.index()]);
        Arc::new(entry)
    }

    /// Computes the states at the edges out of a block. Returns the blocks to which changed edges
    /// lead.
    fn execute(&mut self, block: usize) -> Vec<usize> {
        let program = self.program;
        let mut edges = [None, None];
        if let Some(entry) = &self.entries[block] {
            let mut state = entry.state(program);
            for origin in &program.blocks[block].ops {
                state.step(&self.setting, &origin.op);
            }
            edges = self.leave(block, &mut state);
        }
        let mut changed = Vec::new();
        for (index, next) in successors(program, block) {
            if self.edges[block][index] != edges[index] {
                changed.push(next);
            }
        }
        self.edges[block] = edges;
        changed
    }

    fn leave(&self, block: usize, state: &mut AbstractState) -> [Option<Arc<Entry>>; 2] {
        let kept = |target: &Destination| match target {
            Destination::Block(next) => self.kept[next.index()].as_slice(),
            Destination::Exit(_) | Destination::Never => &[],
        };
        let entry = |state: &AbstractState, values: &[NumberedValue], target| {
            Some(Arc::new(Entry::of(state, values, kept(target))))
        };
        match &self.program.blocks[block].terminator {
            Terminator::Jump(edge) => [entry(state, &state.values, &edge.target), None],
            Terminator::Branch { cond, taken, fallthrough } => {
                let cond = state.number_of(*cond);
                // An edge without a state cannot be taken, so code behind it may be dead. Undecided
                // blocks keep both edges, with the unrefined state.
                let side = |value: u64, target| match refined(state, cond, value) {
                    Some(values) => entry(state, &values, target),
                    None if self.undecided[block] => entry(state, &state.values, target),
                    None => None,
                };
                [side(1, &taken.target), side(0, &fallthrough.target)]
            }
        }
    }
}

/// Returns the values of a state, restricted to runs in which the condition `cond` has the value
/// `value`. Returns `None` if `cond` cannot have this value.
fn refined(state: &AbstractState, cond: ValueNumber, value: u64) -> Option<Vec<NumberedValue>> {
    if !state.values[cond as usize].value.domain.contains(value) {
        return None;
    }
    let mut values = state.values.clone();
    refine::assume(&mut values, cond, Domain::constant(1, value)).ok()?;
    Some(values)
}
