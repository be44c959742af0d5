//! Unrolling: executes the program symbolically, all paths together, and lays out each block
//! instance as a node.
//!
//! Loops end where the conditions say so: the facts collected on the way rule out the way back, as
//! the kernel's verifier finds loop bounds by execution (`kernel/bpf/verifier.c`, `is_branch_taken`
//! and `check_cond_jmp_op`). Where they do not, a limit per loop cuts it ("throughput guarantees",
//! § 5.2), which becomes an assumption of the result.

use crate::SearchError;
use crate::dag::{Arc, Dag, DagNode, Head};
use slowpath_exec::{ArcId, ExecError, Executor, NodeId, Start, SymbolicState};
use slowpath_ir::{BlockId, Destination, FlowGraph, LoopId, Program};
use slowpath_smt::TermId;
use slowpath_stop::Stop;
use std::rc::Rc;

/// How often a loop's body may run, where the program does not say it or says more.
#[derive(Clone, Debug, Default)]
pub struct UnrollLimits {
    /// For every loop whose limit cannot be derived and that has none of its own here.
    pub every: Option<u32>,
    /// By the number of an instruction inside the loop; the innermost loop around it is meant, and
    /// its copies. These also cut loops that are known to run more often.
    pub at: Vec<(u32, u32)>,
    /// Loops, named likewise, whose limit is known not to be derivable: nobody tries.
    pub underivable: Vec<u32>,
}

/// A stated limit of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedLimit {
    /// Rounds at most.
    pub count: u32,
    /// Whether it is meant for this loop, whatever can be derived.
    pub own: bool,
}

/// The limits that are stated for each loop of `flow`.
///
/// # Errors
/// [`SearchError::NoLoopAt`] for a limit without a loop.
pub fn stated_limits(
    program: &Program,
    flow: &FlowGraph,
    limits: &UnrollLimits,
) -> Result<Vec<Option<StatedLimit>>, SearchError> {
    let limits = per_loop(program, flow, limits)?;
    let stated = |limit: &Limit| Some(StatedLimit { count: limit.count?, own: limit.own });
    Ok(limits.iter().map(stated).collect())
}

/// Block instances after which a program is refused rather than unrolled further.
const MAX_NODES: usize = 1_000_000;
/// Iterations after which a loop without a limit counts as unbounded.
const MAX_ITERATIONS: u32 = 10_000;

/// An unrolled program and what executed it.
pub struct Unrolled {
    /// The graph.
    pub dag: Dag,
    /// The terms of its conditions.
    pub executor: Executor,
    /// The state behind each arc that leaves the program.
    pub exits: Vec<(ArcId, SymbolicState)>,
    /// One sentence for each loop that a limit cut.
    pub assumptions: Vec<String>,
    /// Those of them about loops that are known to run more often.
    pub cuts: Vec<String>,
}

/// Unrolls `program`. When `stop` says so, the work is abandoned; later work on the terms ends by it
/// as well.
///
/// Limits are for loops that have none of their own, so that theirs is looked for first. When it turns
/// out that a loop has to be cut, all is laid out anew: nothing of what was executed in vain is left.
///
/// # Errors
/// Loops with several entries or without a bound, what execution cannot do, and the reason to stop.
pub fn unroll(
    program: Rc<Program>,
    limits: &UnrollLimits,
    stop: &Stop,
) -> Result<Unrolled, SearchError> {
    unroll_from(program, limits, &Start::default(), stop)
}

/// The same for runs that start from what is given.
///
/// # Errors
/// As [`unroll`].
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
            Err(Ended::Cut(id, why)) => limits[id.index()].cut = Some(why),
            Err(Ended::Error(error)) => match unroller.to_blame(&error) {
                Some(id) => limits[id.index()].cut = Some(Why::Unlimited),
                None => return Err(error),
            },
        }
    }
}

/// Why a limit cuts a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// No limit of its own was found.
    Unlimited,
    /// It is wanted so, although the loop is known to end after so many iterations.
    Wanted(u32),
}

/// How often a loop may run.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    count: Option<u32>,
    /// Whether the limit is meant for this loop, whatever can be derived.
    own: bool,
    /// Whether the limit is to be applied, once that is known.
    cut: Option<Why>,
}

/// Why unrolling ended early.
enum Ended {
    Error(SearchError),
    /// This loop has to be cut.
    Cut(LoopId, Why),
}

impl From<SearchError> for Ended {
    fn from(error: SearchError) -> Self {
        Ended::Error(error)
    }
}

impl From<ExecError> for Ended {
    fn from(error: ExecError) -> Self {
        Ended::Error(error.into())
    }
}

/// The limit of every loop.
fn per_loop(
    program: &Program,
    flow: &FlowGraph,
    limits: &UnrollLimits,
) -> Result<Vec<Limit>, SearchError> {
    let every = Limit { count: limits.every, ..Limit::default() };
    let mut result = vec![every; flow.loops.len()];
    let own = limits.at.iter().map(|&(location, limit)| (location, Some(limit)));
    for (location, limit) in own.chain(limits.underivable.iter().map(|&at| (at, None))) {
        // An instruction in a delay slot is part of several blocks.
        let holds = |block: &&BlockId| {
            // The blocks of a helper's loop have no instructions of their own.
            let block = program.block(**block);
            block.first.0 == location || block.insns.iter().any(|insn| insn.0 == location)
        };
        let mut around = flow.order.iter().filter(holds).map(|b| flow.innermost[b.index()]);
        let Some(inside) = around.find_map(|inside| inside) else {
            return Err(SearchError::NoLoopAt { location });
        };
        // Copies of a function's loop, one for each call that is inlined, start alike.
        let first = |id: LoopId| program.block(flow.loops[id.index()].header).first;
        let alike = (0..flow.loops.len()).filter(|&id| first(LoopId::from(id)) == first(inside));
        for id in alike {
            match limit {
                Some(_) => (result[id].count, result[id].own) = (limit, true),
                None => result[id].cut = Some(Why::Unlimited),
            }
        }
    }
    Ok(result)
}

/// The head of an arc whose target has not been laid out yet.
const PROVISIONAL: Head = Head::Node(NodeId(u32::MAX));

/// What a branch takes: a term and the value that it must have.
type Condition = Option<(TermId, bool)>;

type Arrivals = Vec<(ArcId, SymbolicState)>;

struct Unroller<'a> {
    program: Rc<Program>,
    flow: Rc<FlowGraph>,
    limits: &'a [Limit],
    executor: Executor,
    exits: Vec<(ArcId, SymbolicState)>,
    dag: Dag,
    /// States on their way to blocks that have not been laid out yet.
    pending: Vec<Arrivals>,
    /// The loops being laid out, innermost last, with what arrives for their next iteration.
    back: Vec<(BlockId, Arrivals)>,
    /// The same loops, with how many iterations have been started.
    running: Vec<(LoopId, u32)>,
    assumptions: Vec<String>,
    cuts: Vec<String>,
}

impl Unroller<'_> {
    /// Lays out the blocks of one loop body (or of the whole program) once.
    fn scope(&mut self, scope: Option<LoopId>) -> Result<(), Ended> {
        let flow = Rc::clone(&self.flow);
        let blocks = scope.map_or(&flow.order, |id| &flow.loops[id.index()].blocks);
        for &block in blocks {
            // Of a large loop, most rounds take few blocks.
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

    /// The loop directly inside `scope` that contains the loop `inner`.
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

    fn iterate(&mut self, id: LoopId) -> Result<(), Ended> {
        let header = self.flow.loops[id.index()].header;
        let mut arrivals = std::mem::take(&mut self.pending[header.index()]);
        let Limit { count, own, cut } = self.limits[id.index()];
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
                Ended::Error(SearchError::TooLarge { nodes }) => {
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
                Err(Ended::Cut(id, Why::Wanted(iteration)))
            }
            _ => Ok(()),
        }
    }

    /// Notes that a limit cuts a loop. An inner loop is cut in every iteration of the outer one.
    fn note(&mut self, location: u32, count: u32, why: Why) {
        let sentence = match why {
            Why::Unlimited => {
                format!("the loop at .{location} runs at most {count} times (--unroll)")
            }
            Why::Wanted(more) => format!(
                "the loop at .{location} runs at most {count} times, less than the {more} that are \
                 possible (--unroll)"
            ),
        };
        if !self.assumptions.contains(&sentence) {
            if why != Why::Unlimited {
                self.cuts.push(sentence.clone());
            }
            self.assumptions.push(sentence);
        }
    }

    /// The loop without a limit of its own that is why unrolling failed, if a limit helps: the
    /// outermost one that has run more often than its limit allows. What fails may be an inner one,
    /// which is laid out over and over again.
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

    /// The graph, once all is laid out.
    fn finish(mut self) -> Result<Unrolled, SearchError> {
        if let Some(block) = self.pending.iter().position(|arrivals| !arrivals.is_empty()) {
            let location = self.program.blocks[block].first.0;
            return Err(SearchError::Internal(format!("the way to .{location} was not followed")));
        }
        self.cut();
        let Unroller { dag, executor, exits, assumptions, cuts, .. } = self;
        Ok(Unrolled { dag, executor, exits, assumptions, cuts })
    }

    fn block(&mut self, block: BlockId) -> Result<(), Ended> {
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

    /// The possible ways out of a block, by index of the edge, with the state behind each. A
    /// condition is kept only where both ways are possible.
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

    /// Takes the arcs that a limit cut out of the graph.
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
