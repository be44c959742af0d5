//! The satisfiable paths of a program, one after the other, depth first: each is executed on its
//! own, without merges, so that every value is a term over the inputs.
//!
//! A model of the conditions so far goes along. It says for free which way of a branch is possible;
//! about the other way the solver is asked when its turn comes.

use super::preconditions::Preconditions;
use super::product::{Product, Side};
use super::queries::{Answer, Queries};
use crate::Error;
use slowpath_exec::{ExecError, NodeId, SymbolicState};
use slowpath_ir::{BlockId, Destination, Terminator};
use slowpath_smt::{Evaluator, Model, Node, TermId, TermPool};

/// Most blocks on a path.
const MAX_BLOCKS: usize = 100_000;

/// A satisfiable path.
pub(super) struct Path {
    /// At its end.
    pub state: SymbolicState,
    /// What has to hold for it to be taken.
    pub conditions: Vec<TermId>,
    /// What it draws, in order.
    pub draws: Vec<TermId>,
    /// Values for which it is taken.
    pub model: Model,
}

/// What comes next.
pub(super) enum NextPath {
    Path(Box<Path>),
    /// Paths that could not be followed, and why.
    Gap(String),
    /// It is time to stop.
    Stopped(&'static str),
    Done,
}

/// Paths that begin alike.
struct Prefix {
    next: Destination,
    state: SymbolicState,
    conditions: Vec<TermId>,
    draws: Vec<TermId>,
    /// `None` if it is not known whether there is a path.
    model: Option<Model>,
    blocks: usize,
}

/// The way on behind a block.
enum Continuation {
    On(Box<Prefix>),
    /// No packet comes here.
    None,
    Gap(String),
}

/// A traversal of the paths of one program.
pub(super) struct PathEnumerator {
    work: Vec<Prefix>,
    /// What models have to have values for.
    inputs: Vec<TermId>,
    /// What is to be drawn.
    draws: Vec<TermId>,
}

impl PathEnumerator {
    /// All paths.
    pub fn new(side: &Side, inputs: Vec<TermId>) -> Self {
        let first = Prefix {
            next: Destination::Block(side.executor.program().entry),
            state: side.start.clone(),
            conditions: Vec::new(),
            draws: Vec::new(),
            model: Some(completed(&side.executor.pool, Model::new(), &inputs, &[])),
            blocks: 0,
        };
        PathEnumerator { work: vec![first], inputs, draws: Vec::new() }
    }

    /// The paths of the card's program for the packets of a path of the BPF program.
    pub fn following(product: &mut Product, path: &Path) -> PathEnumerator {
        let pool = &mut product.bpf.executor.pool;
        // The card draws 32 bits at a time.
        let draws = path
            .draws
            .iter()
            .map(|&drawn| if pool.width(drawn) > 32 { pool.extract(drawn, 0, 32) } else { drawn });
        let draws = draws.collect();
        let (conditions, model) = (path.conditions.clone(), path.model.clone());
        product.swap_terms();
        let paths =
            PathEnumerator::along(&product.card, product.inputs(), conditions, model, draws);
        product.swap_terms();
        paths
    }

    /// The paths under some conditions, of which there is a model; `draws` is what is drawn.
    fn along(
        side: &Side,
        inputs: Vec<TermId>,
        conditions: Vec<TermId>,
        model: Model,
        draws: Vec<TermId>,
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
            model: Some(model),
            blocks: 0,
        };
        PathEnumerator { work: vec![first], inputs, draws }
    }

    /// The next path. `preconditions` are what the program's packets are restricted to.
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn next(
        &mut self,
        side: &mut Side,
        mut preconditions: Option<&mut Preconditions>,
        queries: &mut Queries<'_>,
    ) -> Result<NextPath, Error> {
        while let Some(at) = self.work.pop() {
            let mut at = Box::new(at);
            if let Some(why) = queries.over() {
                return Ok(NextPath::Stopped(why));
            }
            if at.model.is_none() {
                match queries.check(&mut side.executor.pool, &at.conditions)? {
                    Answer::Sat(model) => {
                        let pool = &side.executor.pool;
                        at.model = Some(completed(pool, model, &self.inputs, &at.conditions));
                    }
                    Answer::Unsat => continue,
                    Answer::Unknown(why) => {
                        let what = format!("the solver cannot tell whether there is a path: {why}");
                        return Ok(NextPath::Gap(what));
                    }
                }
            }
            loop {
                if let Some(why) = queries.over() {
                    return Ok(NextPath::Stopped(why));
                }
                let block = match (at.next, &at.model) {
                    (Destination::Block(block), _) => block,
                    // What is compiled for the card has no such ways.
                    (Destination::Never, _) => break,
                    (Destination::Exit(_), None) => {
                        let what = "the solver cannot tell whether there is a path";
                        return Ok(NextPath::Gap(what.to_owned()));
                    }
                    (Destination::Exit(_), Some(model)) => {
                        let model = model.clone();
                        let Prefix { state, conditions, draws, .. } = *at;
                        return Ok(NextPath::Path(Box::new(Path {
                            state,
                            conditions,
                            draws,
                            model,
                        })));
                    }
                };
                match self.block(side, preconditions.as_deref_mut(), queries, block, at)? {
                    Continuation::On(next) => at = next,
                    Continuation::None => break,
                    Continuation::Gap(why) => {
                        return Ok(queries.over().map_or(NextPath::Gap(why), NextPath::Stopped));
                    }
                }
            }
        }
        Ok(NextPath::Done)
    }

    /// Executes a block.
    fn block(
        &mut self,
        side: &mut Side,
        preconditions: Option<&mut Preconditions>,
        queries: &mut Queries<'_>,
        block: BlockId,
        mut at: Box<Prefix>,
    ) -> Result<Continuation, Error> {
        at.blocks += 1;
        if at.blocks > MAX_BLOCKS {
            return Ok(Continuation::Gap(format!("a path is longer than {MAX_BLOCKS} blocks")));
        }
        let failed = |error: ExecError| Ok(Continuation::Gap(error.to_string()));
        let point = NodeId(side.points);
        side.points += 1;
        side.executor.expect_draws(self.draws.iter().skip(at.draws.len()).copied());
        let condition = match side.executor.run_block(point, block, &mut at.state) {
            Ok(condition) => condition,
            Err(error) => return failed(error),
        };
        at.draws.extend(side.executor.unknowns(point));
        if let (Some(model), true) = (&mut at.model, !side.executor.unknowns(point).is_empty()) {
            complete(&side.executor.pool, model, side.executor.unknowns(point));
        }
        if let Some(preconditions) = preconditions
            && !self.restrict(side, preconditions, queries, block, &mut at)?
        {
            return Ok(Continuation::None);
        }
        let program = side.executor.program();
        let (taken, fallthrough) = match &program.block(block).terminator {
            Terminator::Jump(edge) => (edge.target, edge.target),
            Terminator::Branch { taken, fallthrough, .. } => (taken.target, fallthrough.target),
        };
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
            model: None,
            blocks: at.blocks,
        });
        at.conditions.push(condition);
        at.state = state;
        on(at, target)
    }

    /// Leaves out what the card does differently whatever the program; returns whether anything is
    /// left.
    fn restrict(
        &self,
        side: &mut Side,
        preconditions: &mut Preconditions,
        queries: &mut Queries<'_>,
        block: BlockId,
        at: &mut Prefix,
    ) -> Result<bool, Error> {
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
                    // Asked again where it matters.
                    Answer::Unknown(_) => None,
                };
            }
        }
        Ok(true)
    }
}

/// Gives variables without a value the least that they can have.
fn complete(pool: &TermPool, model: &mut Model, terms: &[TermId]) {
    for term in pool.subterms(terms) {
        if let Node::Var(var) = *pool.node(term)
            && model.var(var).is_none()
        {
            model.set_var(var, pool.var_info(var).1.lo());
        }
    }
}

/// A model with values for all inputs, if it is one of the conditions still.
fn completed(pool: &TermPool, model: Model, inputs: &[TermId], conditions: &[TermId]) -> Model {
    let mut all = model.clone();
    complete(pool, &mut all, inputs);
    let mut evaluator = Evaluator::new(pool, &all);
    if conditions.iter().all(|&condition| evaluator.value(condition) == 1) { all } else { model }
}
