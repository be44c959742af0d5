//! Enumerates the satisfiable paths of a program, depth first. Each path is executed on its own,
//! without merges, so every value is a term over the inputs.
//!
//! Each path has a model of its conditions so far. The model shows without a query that one side of
//! a branch is possible. The solver decides about the other side when the enumeration reaches it. A
//! path that the solver cannot decide quickly is followed as well: results about paths that no
//! packet takes do no harm.

use crate::preconditions::Preconditions;
use crate::queries::{Answer, Queries};
use crate::side::Side;
use slowpath_exec::{ExecError, SymbolicState};
use slowpath_ir::{BlockId, Destination, Op, RelianceId};
use slowpath_smt::{Evaluator, Model, Node, SolverError, TermId, TermPool};

/// Maximum number of blocks on a path.
const MAX_BLOCKS: usize = 100_000;

/// A path through a program, and the state at its end. The path is taken by some packet, or the
/// solver could not decide whether it is.
pub struct Path {
    /// State at the end of the path.
    pub state: SymbolicState,
    /// Conditions that all hold if a packet takes the path.
    pub conditions: Vec<TermId>,
    /// Terms for the unknown values that the program receives from outside on the path, such as the
    /// time, in order.
    pub draws: Vec<TermId>,
    /// Uncertain assumptions of the path ([`Op::Rely`]), each with a term that is 1 if the path
    /// relies on it.
    pub reliances: Vec<(RelianceId, TermId)>,
    /// Number of instructions that the path executes.
    pub instructions: u64,
    /// Values of inputs for which a run takes the path; `None` if the solver could not decide if
    /// any exist.
    pub model: Option<Model>,
    /// Number of most recent queries about the path, without interruption, that the solver could
    /// not decide.
    undecided_queries: u32,
}

impl Path {
    /// Creates a path that represents all runs of a program together.
    pub(crate) fn joined(
        state: SymbolicState,
        conditions: Vec<TermId>,
        reliances: Vec<(RelianceId, TermId)>,
        instructions: u64,
    ) -> Path {
        let (draws, model, undecided_queries) = (Vec::new(), None, 0);
        Path { state, conditions, draws, reliances, instructions, model, undecided_queries }
    }
}

/// The next result of enumerating paths.
pub enum NextPath {
    /// The next path.
    Path(Box<Path>),
    /// Some paths are missing in the enumeration, for this reason.
    Gap(String),
    /// The enumeration stopped early, for this reason.
    Stopped(&'static str),
    /// All paths have been returned.
    Done,
}

/// The common beginning of paths that are not enumerated yet.
struct Prefix {
    next: Destination,
    state: SymbolicState,
    conditions: Vec<TermId>,
    draws: Vec<TermId>,
    reliances: Vec<(RelianceId, TermId)>,
    /// Counters of the unknown values received from outside so far, as [`DrawSource`] keeps them.
    counts: Vec<u32>,
    /// Values of inputs for which a run takes the prefix; `None` if the solver could not decide if
    /// any exist.
    model: Option<Model>,
    /// Number of most recent queries about the prefix, without interruption, that the solver could
    /// not decide.
    undecided_queries: u32,
    blocks: usize,
    instructions: u64,
}

/// The continuation of a path after a block.
enum Continuation {
    On(Box<Prefix>),
    /// The path ends after this block, because no packet can continue on it.
    None,
    Gap(String),
}

/// A source of terms for the unknown values that programs draw (receive from outside,
/// [`Op::Unknown`]), such as the time. Values that correspond to each other in two programs get the
/// same term.
pub trait DrawSource {
    /// Returns the terms for the unknown values that a block draws, in order. If a term is missing
    /// or has the wrong width, the operation gets a new unknown. `counts` contains the counters of
    /// the path before the block; it is empty at the start of the path.
    fn draws(&mut self, side: &mut Side, block: BlockId, counts: &mut Vec<u32>) -> Vec<TermId>;

    /// Returns the counters of both programs after several paths have joined. `ways` contains both
    /// programs' counters on each path. After the join, equal counters in both programs again stand
    /// for the same value. Returns `None` if no counters have this property.
    fn join(&self, ways: &[[&[u32]; 2]]) -> Option<[Vec<u32>; 2]> {
        let (&first, others) = ways.split_first()?;
        others.iter().all(|&way| way == first).then(|| first.map(<[u32]>::to_vec))
    }
}

/// A source of unknown values that returns a fixed list of terms, in order.
pub struct FixedDraws(pub Vec<TermId>);

impl DrawSource for FixedDraws {
    fn draws(&mut self, side: &mut Side, block: BlockId, counts: &mut Vec<u32>) -> Vec<TermId> {
        let ops = &side.executor.program().block(block).ops;
        let here = ops.iter().filter(|origin| matches!(origin.op, Op::Unknown { .. })).count();
        let before = counts.first().copied().unwrap_or(0);
        *counts = vec![before + here as u32];
        self.0.iter().skip(before as usize).take(here).copied().collect()
    }
}

/// An enumeration of the paths of one program.
pub struct PathEnumerator {
    work: Vec<Prefix>,
    /// Inputs of the program to which each path's model must assign values.
    inputs: Vec<TermId>,
}

impl PathEnumerator {
    /// Creates an enumeration of all paths that can be taken while all `conditions` hold. The model
    /// of each path has values for `inputs`.
    pub fn new(side: &Side, inputs: Vec<TermId>, conditions: Vec<TermId>) -> Self {
        let model = conditions
            .is_empty()
            .then(|| completed(&side.executor.pool, Model::new(), &inputs, &[]));
        PathEnumerator::under(side, inputs, conditions, (model, 0))
    }

    /// Creates an enumeration of those paths of one program that packets on `path` can take. `path`
    /// is a path of the other program.
    pub fn following(side: &Side, inputs: Vec<TermId>, path: &Path) -> Self {
        let known = (path.model.clone(), path.undecided_queries);
        PathEnumerator::under(side, inputs, path.conditions.clone(), known)
    }

    fn under(
        side: &Side,
        inputs: Vec<TermId>,
        conditions: Vec<TermId>,
        (model, undecided_queries): (Option<Model>, u32),
    ) -> Self {
        let mut state = side.start.clone();
        for &condition in &conditions {
            if let Some(next) = side.executor.assume(&state, condition, true) {
                state = next;
            }
        }
        let first = Prefix {
            next: Destination::Block(side.executor.program().entry),
            state,
            conditions,
            draws: Vec::new(),
            reliances: Vec::new(),
            counts: Vec::new(),
            model,
            undecided_queries,
            blocks: 0,
            instructions: 0,
        };
        PathEnumerator { work: vec![first], inputs }
    }

    /// Returns the next path. Packets that violate one of the `preconditions` are left out.
    ///
    /// # Errors
    /// If the solver contradicts itself.
    pub fn next(
        &mut self,
        side: &mut Side,
        mut preconditions: Option<&mut dyn Preconditions>,
        drawing: &mut dyn DrawSource,
        queries: &mut Queries<'_>,
    ) -> Result<NextPath, SolverError> {
        while let Some(at) = self.work.pop() {
            let mut at = Box::new(at);
            if let Some(why) = queries.stop_reason() {
                return Ok(NextPath::Stopped(why));
            }
            if at.model.is_none() {
                let pool = &mut side.executor.pool;
                match queries.check_quickly(pool, &at.conditions, at.undecided_queries)? {
                    Answer::Sat(model) => {
                        at.model = Some(completed(pool, model, &self.inputs, &at.conditions));
                        at.undecided_queries = 0;
                    }
                    Answer::Unsat => continue,
                    Answer::Unknown(_) => at.undecided_queries += 1,
                }
            }
            loop {
                if let Some(why) = queries.stop_reason() {
                    return Ok(NextPath::Stopped(why));
                }
                let block = match at.next {
                    Destination::Block(block) => block,
                    // No run takes this edge.
                    Destination::Never => break,
                    Destination::Exit(_) => {
                        let Prefix {
                            state,
                            conditions,
                            draws,
                            reliances,
                            instructions,
                            model,
                            undecided_queries,
                            ..
                        } = *at;
                        let path = Path {
                            state,
                            conditions,
                            draws,
                            reliances,
                            instructions,
                            model,
                            undecided_queries,
                        };
                        return Ok(NextPath::Path(Box::new(path)));
                    }
                };
                // `as_deref_mut` would keep the borrow for the lifetime of the trait object.
                let restricted: Option<&mut dyn Preconditions> = match &mut preconditions {
                    Some(preconditions) => Some(&mut **preconditions),
                    None => None,
                };
                match self.block(side, restricted, drawing, queries, block, at)? {
                    Continuation::On(next) => at = next,
                    Continuation::None => break,
                    Continuation::Gap(why) => {
                        return Ok(queries
                            .stop_reason()
                            .map_or(NextPath::Gap(why), NextPath::Stopped));
                    }
                }
            }
        }
        Ok(NextPath::Done)
    }

    /// Executes a block. At a branch, continues on the side that the path's model takes, and queues
    /// the other side.
    fn block(
        &mut self,
        side: &mut Side,
        preconditions: Option<&mut dyn Preconditions>,
        drawing: &mut dyn DrawSource,
        queries: &mut Queries<'_>,
        block: BlockId,
        mut at: Box<Prefix>,
    ) -> Result<Continuation, SolverError> {
        at.blocks += 1;
        if at.blocks > MAX_BLOCKS {
            return Ok(Continuation::Gap(format!("a path is longer than {MAX_BLOCKS} blocks")));
        }
        let failed = |error: ExecError| Ok(Continuation::Gap(error.to_string()));
        at.instructions += side.executor.program().block(block).insns.len() as u64;
        let point = side.new_point();
        let expected = drawing.draws(side, block, &mut at.counts);
        side.executor.expect_draws(expected);
        let condition = match side.executor.run_block(point, block, &mut at.state) {
            Ok(condition) => condition,
            Err(error) => return failed(error),
        };
        at.draws.extend(side.executor.unknowns(point));
        at.reliances.extend(side.executor.reliances(point));
        if let (Some(model), true) = (&mut at.model, !side.executor.unknowns(point).is_empty()) {
            complete(&side.executor.pool, model, side.executor.unknowns(point));
        }
        if let Some(preconditions) = preconditions
            && !self.restrict(side, preconditions, queries, block, &mut at)?
        {
            return Ok(Continuation::None);
        }
        let [taken, fallthrough] = side.targets(block);
        let on = |mut at: Box<Prefix>, target| {
            at.next = target;
            Ok(Continuation::On(at))
        };
        let Some(condition) = condition else { return on(at, taken) };
        let condition = match side.resolver.resolve(&mut side.executor, condition) {
            Ok(condition) => condition,
            Err(error) => return failed(error),
        };
        let holds = side.executor.assume(&at.state, condition, true);
        let fails = side.executor.assume(&at.state, condition, false);
        let (holds, fails) = match (side.executor.pool.as_const(condition), holds, fails) {
            (Some(0), ..) | (None, None, Some(_)) => return on(at, fallthrough),
            (Some(_), ..) | (None, Some(_), None) => return on(at, taken),
            (None, Some(holds), Some(fails)) => (holds, fails),
            (None, None, None) => return Ok(Continuation::None),
        };
        let opposite = side.executor.pool.not(condition);
        let expected =
            at.model.as_ref().is_none_or(|model| side.executor.pool.eval(condition, model) == 1);
        let mut ways = [(condition, holds, taken), (opposite, fails, fallthrough)];
        if !expected {
            ways.swap(0, 1);
        }
        let [(condition, state, target), (other, other_state, other_target)] = ways;
        let mut conditions = at.conditions.clone();
        conditions.push(other);
        self.work.push(Prefix {
            next: other_target,
            state: other_state,
            conditions,
            draws: at.draws.clone(),
            reliances: at.reliances.clone(),
            counts: at.counts.clone(),
            model: None,
            undecided_queries: at.undecided_queries,
            blocks: at.blocks,
            instructions: at.instructions,
        });
        at.conditions.push(condition);
        at.state = state;
        on(at, target)
    }

    /// Leaves out packets that violate a precondition; returns false if no packets are left.
    fn restrict(
        &self,
        side: &mut Side,
        preconditions: &mut dyn Preconditions,
        queries: &mut Queries<'_>,
        block: BlockId,
        at: &mut Prefix,
    ) -> Result<bool, SolverError> {
        for precondition in preconditions.of_block(&mut side.executor, block) {
            let Ok(term) = side.resolver.resolve(&mut side.executor, precondition.term) else {
                continue;
            };
            let Some(state) = side.executor.assume(&at.state, term, true) else {
                preconditions.exclude(&precondition);
                return Ok(false);
            };
            if side.executor.assume(&at.state, term, false).is_none() {
                continue;
            }
            if !preconditions.is_excluded(&precondition) {
                let mut conditions = at.conditions.clone();
                conditions.push(side.executor.pool.not(term));
                if let Answer::Unsat = queries.check(&mut side.executor.pool, &conditions)? {
                    at.state = state;
                    continue;
                }
                preconditions.exclude(&precondition);
            }
            at.state = state;
            at.conditions.push(term);
            let pool = &mut side.executor.pool;
            if at.model.as_ref().is_none_or(|model| pool.eval(term, model) != 1) {
                at.model = match queries.check(pool, &at.conditions)? {
                    Answer::Sat(model) => {
                        Some(completed(pool, model, &self.inputs, &at.conditions))
                    }
                    Answer::Unsat => return Ok(false),
                    // The solver is asked again where a model is needed.
                    Answer::Unknown(_) => None,
                };
            }
        }
        Ok(true)
    }
}

/// Gives each variable in `terms` that has no value the least value of its domain.
fn complete(pool: &TermPool, model: &mut Model, terms: &[TermId]) {
    for term in pool.subterms(terms) {
        if let Node::Var(var) = *pool.node(term)
            && model.var(var).is_none()
        {
            model.set_var(var, pool.var_info(var).1.lo());
        }
    }
}

/// Returns the model with values for all inputs. Returns it unchanged if the conditions would no
/// longer hold.
fn completed(pool: &TermPool, model: Model, inputs: &[TermId], conditions: &[TermId]) -> Model {
    let mut all = model.clone();
    complete(pool, &mut all, inputs);
    let mut evaluator = Evaluator::new(pool, &all);
    if conditions.iter().all(|&condition| evaluator.value(condition) == 1) { all } else { model }
}
