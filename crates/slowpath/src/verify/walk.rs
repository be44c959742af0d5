//! The satisfiable paths of a program, one after the other, depth first: each is executed on its
//! own, without merges, so that every value is a term over the inputs.
//!
//! A model of the conditions so far goes along. It says for free which way of a branch is possible;
//! about the other way the solver is asked when its turn comes.

use super::ask::{Answer, Ask};
use super::limits::Limits;
use super::twins::Side;
use crate::Error;
use slowpath_exec::{ExecError, PointId, State};
use slowpath_ir::{BlockId, Target, Terminator};
use slowpath_smt::{Evaluator, Model, Node, TermId, TermPool};

/// Most blocks on a path.
const MAX_BLOCKS: usize = 100_000;

/// A satisfiable path.
pub(super) struct Path {
    /// At its end.
    pub state: State,
    /// What has to hold for it to be taken.
    pub conditions: Vec<TermId>,
    /// What it draws, in order.
    pub draws: Vec<TermId>,
    /// Values for which it is taken.
    pub model: Model,
}

/// What comes next.
pub(super) enum Step {
    Path(Box<Path>),
    /// Paths that could not be followed, and why.
    Gap(String),
    /// It is time to stop.
    Stopped(&'static str),
    Done,
}

/// Paths that begin alike.
struct Pending {
    next: Target,
    state: State,
    conditions: Vec<TermId>,
    draws: Vec<TermId>,
    /// `None` if it is not known whether there is a path.
    model: Option<Model>,
    blocks: usize,
}

/// The way on behind a block.
enum Way {
    On(Box<Pending>),
    /// No packet comes here.
    None,
    Gap(String),
}

/// A traversal of the paths of one program.
pub(super) struct Walk {
    work: Vec<Pending>,
    /// What models have to have values for.
    inputs: Vec<TermId>,
    /// What is to be drawn.
    draws: Vec<TermId>,
}

impl Walk {
    /// All paths.
    pub fn new(side: &Side, inputs: Vec<TermId>) -> Self {
        let first = Pending {
            next: Target::Block(side.machine.program().entry),
            state: side.start.clone(),
            conditions: Vec::new(),
            draws: Vec::new(),
            model: Some(completed(&side.machine.pool, Model::new(), &inputs, &[])),
            blocks: 0,
        };
        Walk { work: vec![first], inputs, draws: Vec::new() }
    }

    /// The paths under some conditions, of which there is a model; `draws` is what is drawn.
    pub fn along(
        side: &Side,
        inputs: Vec<TermId>,
        conditions: Vec<TermId>,
        model: Model,
        draws: Vec<TermId>,
    ) -> Self {
        let mut state = side.start.clone();
        for &condition in &conditions {
            if let Some(next) = side.machine.assume(&state, condition, true) {
                state = next;
            }
        }
        let first = Pending {
            next: Target::Block(side.machine.program().entry),
            state,
            conditions,
            draws: Vec::new(),
            model: Some(model),
            blocks: 0,
        };
        Walk { work: vec![first], inputs, draws }
    }

    /// The next path. `limits` are what the program's packets are restricted to.
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn next(
        &mut self,
        side: &mut Side,
        mut limits: Option<&mut Limits>,
        ask: &mut Ask<'_>,
    ) -> Result<Step, Error> {
        while let Some(at) = self.work.pop() {
            let mut at = Box::new(at);
            if let Some(why) = ask.over() {
                return Ok(Step::Stopped(why));
            }
            if at.model.is_none() {
                match ask.ask(&mut side.machine.pool, &at.conditions)? {
                    Answer::Yes(model) => {
                        let pool = &side.machine.pool;
                        at.model = Some(completed(pool, model, &self.inputs, &at.conditions));
                    }
                    Answer::No => continue,
                    Answer::Unknown(why) => {
                        let what = format!("the solver cannot tell whether there is a path: {why}");
                        return Ok(Step::Gap(what));
                    }
                }
            }
            loop {
                if let Some(why) = ask.over() {
                    return Ok(Step::Stopped(why));
                }
                let block = match (at.next, &at.model) {
                    (Target::Block(block), _) => block,
                    // What is compiled for the card has no such ways.
                    (Target::Never, _) => break,
                    (Target::Exit(_), None) => {
                        let what = "the solver cannot tell whether there is a path";
                        return Ok(Step::Gap(what.to_owned()));
                    }
                    (Target::Exit(_), Some(model)) => {
                        let model = model.clone();
                        let Pending { state, conditions, draws, .. } = *at;
                        return Ok(Step::Path(Box::new(Path { state, conditions, draws, model })));
                    }
                };
                match self.block(side, limits.as_deref_mut(), ask, block, at)? {
                    Way::On(next) => at = next,
                    Way::None => break,
                    Way::Gap(why) => {
                        return Ok(ask.over().map_or(Step::Gap(why), Step::Stopped));
                    }
                }
            }
        }
        Ok(Step::Done)
    }

    /// Executes a block.
    fn block(
        &mut self,
        side: &mut Side,
        limits: Option<&mut Limits>,
        ask: &mut Ask<'_>,
        block: BlockId,
        mut at: Box<Pending>,
    ) -> Result<Way, Error> {
        at.blocks += 1;
        if at.blocks > MAX_BLOCKS {
            return Ok(Way::Gap(format!("a path is longer than {MAX_BLOCKS} blocks")));
        }
        let failed = |error: ExecError| Ok(Way::Gap(error.to_string()));
        let point = PointId(side.points);
        side.points += 1;
        side.machine.expect_draws(self.draws.iter().skip(at.draws.len()).copied());
        let condition = match side.machine.run_block(point, block, &mut at.state) {
            Ok(condition) => condition,
            Err(error) => return failed(error),
        };
        at.draws.extend(side.machine.unknowns(point));
        if let (Some(model), true) = (&mut at.model, !side.machine.unknowns(point).is_empty()) {
            complete(&side.machine.pool, model, side.machine.unknowns(point));
        }
        if let Some(limits) = limits
            && !self.restrict(side, limits, ask, block, &mut at)?
        {
            return Ok(Way::None);
        }
        let program = side.machine.program();
        let (taken, fallthrough) = match &program.block(block).terminator {
            Terminator::Jump(edge) => (edge.target, edge.target),
            Terminator::Branch { taken, fallthrough, .. } => (taken.target, fallthrough.target),
        };
        let on = |mut at: Box<Pending>, target| {
            at.next = target;
            Ok(Way::On(at))
        };
        let Some(condition) = condition else { return on(at, taken) };
        let condition = match side.resolver.resolve(&mut side.machine, condition) {
            Ok(condition) => condition,
            Err(error) => return failed(error),
        };
        let holds = side.machine.assume(&at.state, condition, true);
        let fails = side.machine.assume(&at.state, condition, false);
        let (holds, fails) = match (side.machine.pool.as_const(condition), holds, fails) {
            (Some(0), ..) | (None, None, Some(_)) => return on(at, fallthrough),
            (Some(_), ..) | (None, Some(_), None) => return on(at, taken),
            (None, Some(holds), Some(fails)) => (holds, fails),
            (None, None, None) => return Ok(Way::None),
        };
        let opposite = side.machine.pool.not(condition);
        let expected =
            at.model.as_ref().is_none_or(|model| side.machine.pool.eval(condition, model) == 1);
        let mut ways = [(condition, holds, taken), (opposite, fails, fallthrough)];
        if !expected {
            ways.swap(0, 1);
        }
        let [(condition, state, target), (other, other_state, other_target)] = ways;
        let mut conditions = at.conditions.clone();
        conditions.push(other);
        self.work.push(Pending {
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
        limits: &mut Limits,
        ask: &mut Ask<'_>,
        block: BlockId,
        at: &mut Pending,
    ) -> Result<bool, Error> {
        for limit in limits.of_block(&mut side.machine, block) {
            let Ok(term) = side.resolver.resolve(&mut side.machine, limit.term) else { continue };
            let Some(state) = side.machine.assume(&at.state, term, true) else {
                limits.exclude(&limit);
                return Ok(false);
            };
            if side.machine.assume(&at.state, term, false).is_none() {
                continue;
            }
            if !limits.is_excluded(&limit) {
                let mut conditions = at.conditions.clone();
                conditions.push(side.machine.pool.not(term));
                if let Answer::No = ask.ask(&mut side.machine.pool, &conditions)? {
                    at.state = state;
                    continue;
                }
                limits.exclude(&limit);
            }
            at.state = state;
            at.conditions.push(term);
            let pool = &mut side.machine.pool;
            if at.model.as_ref().is_none_or(|model| pool.eval(term, model) != 1) {
                at.model = match ask.ask(pool, &at.conditions)? {
                    Answer::Yes(model) => {
                        Some(completed(pool, model, &self.inputs, &at.conditions))
                    }
                    Answer::No => return Ok(false),
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
