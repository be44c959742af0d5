//! Unrolls a program: executes all its paths symbolically and makes a separate node for each copy
//! of a block.
//!
//! A loop ends when the facts on the path rule out its back edges. The kernel's verifier finds loop
//! bounds in the same way (`kernel/bpf/verifier.c`, `is_branch_taken` and `check_cond_jmp_op`).
//! Otherwise, a limit cuts the loop ("throughput guarantees", § 5.2); the limit becomes an
//! assumption of the result.

use crate::SearchError;
use crate::dag::{Arc, Dag, DagNode, Head};
use slowpath_exec::{ArcId, ExecError, Executor, NodeId, Start, SymbolicState};
use slowpath_ir::{BlockId, Destination, FlowGraph, LoopId, Program};
use slowpath_smt::TermId;
use slowpath_stop::Stop;
use std::rc::Rc;

/// Limits on loop iterations that the user states, for loops whose bound the analysis cannot
/// derive, or whose derived bound is too high.
#[derive(Clone, Debug, Default)]
pub struct UnrollLimits {
    /// Limit for every loop that is not listed in `at` and for which the analysis cannot derive a
    /// bound.
    pub every: Option<u32>,
    /// Pairs of an instruction in a loop and a limit. The limit applies to the innermost loop
    /// around the instruction, and to all inlined copies of this loop. It also cuts loops whose
    /// derived bound is higher.
    pub at: Vec<(u32, u32)>,
    /// Instructions in loops without a derivable bound, known from an earlier analysis. The
    /// analysis does not try to derive a bound for these loops.
    pub underivable: Vec<u32>,
}

/// A limit that the user stated for one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedLimit {
    /// Maximum number of iterations.
    pub count: u32,
    /// True if the user stated the limit for this particular loop. It then also overrides a
    /// derived bound.
    pub explicit: bool,
}

/// Returns the limit that the user stated for each loop of `flow`; `None` for loops without a
/// limit.
///
/// # Errors
/// Fails with [`SearchError::NoLoopAt`] if a limit names an instruction outside all loops.
pub fn stated_limits(
    program: &Program,
    flow: &FlowGraph,
    limits: &UnrollLimits,
) -> Result<Vec<Option<StatedLimit>>, SearchError> {
    let limits = per_loop(program, flow, limits)?;
    let stated =
        |limit: &Limit| Some(StatedLimit { count: limit.count?, explicit: limit.explicit });
    Ok(limits.iter().map(stated).collect())
}

/// Maximum number of nodes of an unrolled program. The analysis rejects programs that need more.
const MAX_NODES: usize = 1_000_000;
/// Number of iterations after which a loop without a limit is considered unbounded.
const MAX_ITERATIONS: u32 = 10_000;

/// An unrolled program, with the terms that its symbolic execution created.
pub struct Unrolled {
    /// The acyclic graph of nodes and arcs.
    pub dag: Dag,
    /// Symbolic executor, which owns the terms of all branch conditions.
    pub executor: Executor,
    /// For each arc that leaves the program, the symbolic state of registers and memory there.
    pub exits: Vec<(ArcId, SymbolicState)>,
    /// Assumptions: one sentence for each loop that a limit cut.
    pub assumptions: Vec<String>,
    /// The entries of `assumptions` about loops whose derived bound is above the user's limit.
    pub cuts: Vec<String>,
}

/// Unrolls `program`. When `stop` holds, both unrolling and later work on the terms end early.
///
/// The analysis first tries to derive a bound for each loop, because most limits apply only to
/// loops without a derived bound. If a loop has to be cut, unrolling starts again, and nothing of
/// the failed attempt remains.
///
/// # Errors
/// Fails for loops with several entries, for loops without a bound, for code that cannot be
/// executed symbolically, and if `stop` holds.
pub fn unroll(
    program: Rc<Program>,
    limits: &UnrollLimits,
    stop: &Stop,
) -> Result<Unrolled, SearchError> {
    unroll_from(program, limits, &Start::default(), stop)
}

/// Unrolls `program` for runs that begin in the state `start`; see [`unroll`].
///
/// # Errors
/// Fails like [`unroll`].
pub fn unroll_from(
    program: Rc<Program>,
    limits: &UnrollLimits,
    start: &Start,
    stop: &Stop,
) -> Result<Unrolled, SearchError> {
    let flow = Rc::new(FlowGraph::of(&program)?);
    let mut limits = per_loop(&program, &flow, limits)?;
    loop {
        let (mut executor, first) = Executor::from_start(Rc::clone(&program), start.clone())?;
        executor.pool.set_stop(stop.clone());
        let mut unroller = Unroller {
            program: Rc::clone(&program),
            flow: Rc::clone(&flow),
            limits: &limits,
            executor,
            exits: Vec::new(),
            dag: Dag::default(),
            pending: vec![Arrivals::new(); program.blocks.len()],
            back: Vec::new(),
            running: Vec::new(),
            assumptions: Vec::new(),
            cuts: Vec::new(),
        };
        unroller.pending[program.entry.index()].push((ArcId(u32::MAX), first));
        match unroller.scope(None) {
            Ok(()) => return unroller.finish(),
            Err(UnrollAbort::Cut(id, why)) => limits[id.index()].cut = Some(why),
            Err(UnrollAbort::Error(error)) => match unroller.to_blame(&error) {
                Some(id) => limits[id.index()].cut = Some(CutReason::Unlimited),
                None => return Err(error),
            },
        }
    }
}

/// The reason why a loop is cut at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutReason {
    /// The analysis could not derive a bound for the loop.
    Unlimited,
    /// The user stated a limit below this derived number of iterations.
    Requested(u32),
}

/// The limit on iterations of one loop, with the reason why it has to be applied.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    count: Option<u32>,
    /// True if the user stated the limit for this particular loop; it then overrides a derived
    /// bound.
    explicit: bool,
    /// Reason for applying the limit; `None` as long as a derived bound may make the limit
    /// unnecessary.
    cut: Option<CutReason>,
}

/// The reason why unrolling ends early.
enum UnrollAbort {
    Error(SearchError),
    /// This loop must be cut at its limit.
    Cut(LoopId, CutReason),
}

impl From<SearchError> for UnrollAbort {
    fn from(error: SearchError) -> Self {
        UnrollAbort::Error(error)
    }
}

impl From<ExecError> for UnrollAbort {
    fn from(error: ExecError) -> Self {
        UnrollAbort::Error(error.into())
    }
}

/// Returns the limit of every loop of a program, with the reason if it has to be applied.
fn per_loop(
    program: &Program,
    flow: &FlowGraph,
    limits: &UnrollLimits,
) -> Result<Vec<Limit>, SearchError> {
    let every = Limit { count: limits.every, ..Limit::default() };
    let mut result = vec![every; flow.loops.len()];
    let own = limits.at.iter().map(|&(location, limit)| (location, Some(limit)));
    for (location, limit) in own.chain(limits.underivable.iter().map(|&at| (at, None))) {
        // An instruction in a delay slot belongs to several blocks.
        let holds = |block: &&BlockId| {
            // Blocks of a helper's loop contain no instructions.
            let block = program.block(**block);
            block.first.0 == location || block.insns.iter().any(|insn| insn.0 == location)
        };
        let mut around = flow.order.iter().filter(holds).map(|b| flow.innermost[b.index()]);
        let Some(inside) = around.find_map(|inside| inside) else {
            return Err(SearchError::NoLoopAt { location });
        };
        // Loops of inlined copies of a function have headers with the same first instruction.
        let first = |id: LoopId| program.block(flow.loops[id.index()].header).first;
        let alike = (0..flow.loops.len()).filter(|&id| first(LoopId::from(id)) == first(inside));
        for id in alike {
            match limit {
                Some(_) => (result[id].count, result[id].explicit) = (limit, true),
                None => result[id].cut = Some(CutReason::Unlimited),
            }
        }
    }
    Ok(result)
}

/// Target of an arc while the real target has no node yet.
const PROVISIONAL: Head = Head::Node(NodeId(u32::MAX));

/// A branch condition, and the value that it must have; `None` for an unconditional step.
type Condition = Option<(TermId, bool)>;

type Arrivals = Vec<(ArcId, SymbolicState)>;

struct Unroller<'a> {
    program: Rc<Program>,
    flow: Rc<FlowGraph>,
    limits: &'a [Limit],
    executor: Executor,
    exits: Vec<(ArcId, SymbolicState)>,
    dag: Dag,
    /// For each block, the symbolic states that arrive at it and for which no node exists yet.
    pending: Vec<Arrivals>,
    /// For each loop being unrolled, innermost last: its header, and the symbolic states in which
    /// the next iteration begins.
    back: Vec<(BlockId, Arrivals)>,
    /// For each loop being unrolled, innermost last: the loop, and the number of iterations begun
    /// so far.
    running: Vec<(LoopId, u32)>,
    assumptions: Vec<String>,
    cuts: Vec<String>,
}

impl Unroller<'_> {
    /// Unrolls the blocks of one iteration of a loop, or of the whole program if `scope` is `None`.
    fn scope(&mut self, scope: Option<LoopId>) -> Result<(), UnrollAbort> {
        let flow = Rc::clone(&self.flow);
        let blocks = scope.map_or(&flow.order, |id| &flow.loops[id.index()].blocks);
        for &block in blocks {
            // Most iterations of a large loop reach only a few of its blocks.
            if self.pending[block.index()].is_empty() {
                continue;
            }
            let innermost = self.flow.innermost[block.index()];
            if innermost == scope {
                self.block(block)?;
            } else if let Some(inner) = self.child(scope, innermost)
                && self.flow.loops[inner.index()].header == block
            {
                self.iterate(inner)?;
            }
        }
        Ok(())
    }

    /// Returns the loop that is directly inside `scope` and that contains the loop `inner` or is
    /// equal to it.
    fn child(&self, scope: Option<LoopId>, inner: Option<LoopId>) -> Option<LoopId> {
        let mut current = inner?;
        loop {
            let parent = self.flow.loops[current.index()].parent;
            if parent == scope {
                return Some(current);
            }
            current = parent?;
        }
    }

    fn iterate(&mut self, id: LoopId) -> Result<(), UnrollAbort> {
        let header = self.flow.loops[id.index()].header;
        let mut arrivals = std::mem::take(&mut self.pending[header.index()]);
        let Limit { count, explicit: own, cut } = self.limits[id.index()];
        let location = self.program.block(header).first.0;
        let mut iteration = 0;
        self.running.push((id, iteration));
        while !arrivals.is_empty() {
            if let (Some(why), Some(count)) = (cut, count)
                && iteration >= count
            {
                self.note(location, count, why);
                break;
            }
            if iteration >= count.unwrap_or_default().max(MAX_ITERATIONS) {
                return Err(SearchError::UnboundedLoop { location, iterations: iteration }.into());
            }
            self.pending[header.index()] = arrivals;
            self.back.push((header, Arrivals::new()));
            let done = self.scope(Some(id));
            arrivals = self.back.pop().map(|(_, next)| next).unwrap_or_default();
            done.map_err(|ended| match ended {
                UnrollAbort::Error(SearchError::TooLarge { nodes }) => {
                    SearchError::LoopTooLarge { location, nodes, iterations: iteration }.into()
                }
                other => other,
            })?;
            iteration += 1;
            if let Some((_, started)) = self.running.last_mut() {
                *started = iteration;
            }
        }
        self.running.pop();
        match count {
            Some(count) if own && cut.is_none() && iteration > count => {
                Err(UnrollAbort::Cut(id, CutReason::Requested(iteration)))
            }
            _ => Ok(()),
        }
    }

    /// Records the assumption that a loop runs at most `count` iterations, its limit. A loop that
    /// runs in several iterations of an outer loop is recorded once.
    fn note(&mut self, location: u32, count: u32, why: CutReason) {
        let sentence = match why {
            CutReason::Unlimited => {
                format!("the loop at .{location} runs at most {count} times (--unroll)")
            }
            CutReason::Requested(more) => format!(
                "the loop at .{location} runs at most {count} times, less than the {more} that are \
                 possible (--unroll)"
            ),
        };
        if !self.assumptions.contains(&sentence) {
            if why != CutReason::Unlimited {
                self.cuts.push(sentence.clone());
            }
            self.assumptions.push(sentence);
        }
    }

    /// Selects the loop whose limit should be applied after unrolling failed with `error`; `None`
    /// if no limit can help. Candidates are the running loops that have reached a limit which is
    /// not applied yet. If unrolling failed in an endless loop that is a candidate, it is selected.
    /// Otherwise, the outermost candidate is selected, because it may repeat an inner loop too
    /// often.
    fn to_blame(&self, error: &SearchError) -> Option<LoopId> {
        if matches!(error, SearchError::Stopped(_) | SearchError::Internal(_)) {
            return None;
        }
        let beyond = |&&(id, started): &&(LoopId, u32)| {
            let Limit { count, cut, .. } = self.limits[id.index()];
            cut.is_none() && count.is_some_and(|count| started >= count)
        };
        let endless = matches!(error, SearchError::UnboundedLoop { .. });
        let mut running = self.running.iter();
        let found = if endless { running.next_back().filter(beyond) } else { None };
        found.or_else(|| self.running.iter().find(beyond)).map(|&(id, _)| id)
    }

    /// Returns the unrolled program, after all blocks have been unrolled.
    fn finish(mut self) -> Result<Unrolled, SearchError> {
        if let Some(block) = self.pending.iter().position(|arrivals| !arrivals.is_empty()) {
            let location = self.program.blocks[block].first.0;
            return Err(SearchError::Internal(format!("the path to .{location} was not followed")));
        }
        self.cut();
        let Unroller { dag, executor, exits, assumptions, cuts, .. } = self;
        Ok(Unrolled { dag, executor, exits, assumptions, cuts })
    }

    fn block(&mut self, block: BlockId) -> Result<(), UnrollAbort> {
        let arrivals = std::mem::take(&mut self.pending[block.index()]);
        self.executor.pool.stop().check().map_err(SearchError::Stopped)?;
        let node = NodeId::from(self.dag.nodes.len());
        if self.dag.nodes.len() >= MAX_NODES {
            return Err(SearchError::TooLarge { nodes: MAX_NODES }.into());
        }
        let program = Rc::clone(&self.program);
        for &(arc, _) in &arrivals {
            if let Some(arc) = self.dag.arcs.get_mut(arc.index()) {
                arc.head = Head::Node(node);
            }
        }
        let mut state = self.executor.merge(node, block, arrivals)?;
        self.dag.nodes.push(DagNode { block, out: Vec::new() });
        let condition = self.executor.run_block(node, block, &mut state)?;
        for (edge, state, condition) in self.ways(state, condition) {
            let Some(target) = program.block(block).terminator.edges().nth(edge) else { continue };
            let arc = ArcId::from(self.dag.arcs.len());
            let min_length = self
                .executor
                .packet_length()
                .map_or(0, |length| state.facts().at_least(&self.executor.pool, length).0 as u32);
            let (head, next) = match target.target {
                Destination::Exit(exit) => (Head::Exit(exit), None),
                Destination::Block(next) => (PROVISIONAL, Some(next)),
                Destination::Never => continue,
            };
            self.dag.nodes[node.index()].out.push(arc);
            self.dag.arcs.push(Arc { tail: node, head, edge, condition, min_length });
            match next {
                Some(next) => self.deliver(next, arc, state),
                None => self.exits.push((arc, state)),
            }
        }
        Ok(())
    }

    /// Returns the edges over which a run can continue after a block, each with its index in the
    /// terminator, the state after it, and the condition for taking it. The condition is `None`
    /// unless both edges are possible.
    fn ways(
        &self,
        state: SymbolicState,
        condition: Option<TermId>,
    ) -> Vec<(usize, SymbolicState, Condition)> {
        let Some(condition) = condition else { return vec![(0, state, None)] };
        let mut ways = Vec::with_capacity(2);
        for (edge, holds) in [(0, true), (1, false)] {
            if let Some(next) = self.executor.assume(&state, condition, holds) {
                ways.push((edge, next, Some((condition, holds))));
            }
        }
        if let [(_, _, only)] = ways.as_mut_slice() {
            *only = None;
        }
        ways
    }

    /// Removes arcs without a target: a limit on loop iterations has cut the code that they lead
    /// to.
    fn cut(&mut self) {
        let arcs = &self.dag.arcs;
        let leads_on = |&arc: &ArcId| arcs[arc.index()].head != PROVISIONAL;
        for node in &mut self.dag.nodes {
            node.out.retain(leads_on);
        }
    }

    fn deliver(&mut self, to: BlockId, arc: ArcId, state: SymbolicState) {
        match self.back.iter_mut().rev().find(|(header, _)| *header == to) {
            Some((_, next)) => next.push((arc, state)),
            None => self.pending[to.index()].push((arc, state)),
        }
    }
}
