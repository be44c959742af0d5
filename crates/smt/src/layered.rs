//! A layered solver: cheap methods come first, and an engine (a SAT solver or Z3) decides the
//! remaining conditions.
//!
//! Conditions are split into groups without common inputs (`components`), and outcomes of groups
//! are cached (`query_cache`). On a cache miss, an engine is asked (`session`), with a few
//! conditions at a time (`refinement`). At first, terms that hash their inputs are opaque
//! (`mixing`): the engine treats them as unknowns. If the engine finds a contradiction, it also
//! holds for the original conditions. If a model violates an original condition, the inputs of
//! opaque terms get concrete values (`concretisation`). If this does not lead to a model, an engine
//! decides the original conditions. These two methods alternate with increasing effort, because
//! either method can be slow where the other is quick.
//!
//! The engine also treats bytes of arrays, and numbers that identify pairs of values
//! ([`TermPool::intern`]), as independent unknowns. Constraints between them are added only when a
//! model violates them (`ackermann`).

mod ackermann;
pub(crate) mod budget;
mod components;
mod concretisation;
pub(crate) mod engine;
mod inputs;
mod mixing;
mod query_cache;
mod refinement;
mod session;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod view;

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::error::SolverError;
use crate::eval::{evaluate, node_value};
use crate::model::Model;
use crate::pool::{FastSet, TermPool};
use crate::solver::{Outcome, Solver, SolverStatistics};
use crate::term::{ArrayId, TermId};
use crate::term_map::TermMap;
use budget::Budget;
use concretisation::{Concretiser, ROUNDS, SolverContext};
use engine::{Effort, Engine};
use inputs::Inputs;
use query_cache::{CachedOutcome, QueryCache};
use refinement::Answer;
use session::Session;
use view::View;

/// A solver that tries cheap methods first and uses an engine for the remaining conditions.
pub(crate) struct Layered<E> {
    /// Session in which the engine treats opaque terms (such as hashes) as unknowns.
    coarse: Session<E>,
    /// Session in which the engine translates all terms; `None` until it is needed.
    exact: Option<Session<E>>,
    inputs: Inputs,
    /// Arrays for which separately decided groups of conditions led to models that disagree about
    /// the value of a byte.
    conflicting_arrays: BTreeSet<ArrayId>,
    cache: QueryCache,
    concretiser: Concretiser,
    /// Opaque terms (such as hashes) whose conditions could be decided only in the exact session.
    /// For these terms, later checks skip the quick attempt in which opaque terms are unknowns.
    decided_exactly: FastSet<TermId>,
    time_limit: Option<Duration>,
    step_limit: Option<u64>,
    /// True if a check should give up when the conditions cannot be decided quickly.
    brief: bool,
    statistics: SolverStatistics,
}

impl<E: Engine> std::fmt::Debug for Layered<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(E::NAME)
            .field("conditions", &self.coarse.engine.conditions())
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

impl<E: Engine> Layered<E> {
    pub(crate) fn new(engine: E) -> Self {
        Layered {
            coarse: Session::new(engine, View::with_opaque_terms()),
            exact: None,
            inputs: Inputs::default(),
            conflicting_arrays: BTreeSet::new(),
            cache: QueryCache::default(),
            concretiser: Concretiser::default(),
            decided_exactly: FastSet::default(),
            time_limit: None,
            step_limit: None,
            brief: false,
            statistics: SolverStatistics::default(),
        }
    }

    fn decide(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError> {
        let mut active: Vec<(usize, TermId)> = Vec::new();
        let mut seen: FastSet<TermId> = FastSet::default();
        for (index, &term) in assumptions.iter().enumerate() {
            let width = pool.width(term);
            if width != 1 {
                return Err(SolverError::NotACondition { index, width });
            }
            match pool.as_const(term) {
                Some(0) => return Ok(Outcome::Unsat(vec![index])),
                Some(_) => {}
                None if seen.insert(term) => active.push((index, term)),
                None => {}
            }
        }
        let budget = Budget::new(pool.stop().within(self.time_limit), self.step_limit);
        let terms: Vec<TermId> = active.iter().map(|&(_, term)| term).collect();
        let outcome = self.decide_groups(pool, &terms, &budget);
        self.statistics.steps += budget.spent();
        Ok(match outcome? {
            Outcome::Sat(model) => {
                verify::<E>(pool, &model, &active)?;
                Outcome::Sat(model)
            }
            Outcome::Unsat(core) => Outcome::Unsat(core.iter().map(|&n| active[n].0).collect()),
            unknown @ Outcome::Unknown(_) => unknown,
        })
    }

    /// Decides whether all conditions can hold together. They are distinct and not constant. Groups
    /// of conditions without common inputs are decided one after another.
    fn decide_groups(
        &mut self,
        pool: &mut TermPool,
        terms: &[TermId],
        budget: &Budget,
    ) -> Result<Outcome, SolverError> {
        loop {
            let mut models: Vec<Model> = Vec::new();
            let mut undecided: Option<String> = None;
            for group in components::split(pool, &mut self.inputs, &self.conflicting_arrays, terms)
            {
                let part: Vec<TermId> = group.iter().map(|&n| terms[n]).collect();
                match self.decide_group(pool, &part, budget)? {
                    Outcome::Sat(model) => models.push(model),
                    Outcome::Unsat(core) => {
                        return Ok(Outcome::Unsat(core.iter().map(|&n| group[n]).collect()));
                    }
                    // The check continues, because a contradiction in a later group decides the
                    // whole check.
                    Outcome::Unknown(why) => {
                        undecided.get_or_insert(why);
                    }
                }
            }
            if let Some(why) = undecided {
                return Ok(Outcome::Unknown(why));
            }
            match components::join(&models) {
                Ok(model) => return Ok(Outcome::Sat(model)),
                // These arrays are not in the set yet: all bytes of an array in the set belong to
                // one group.
                Err(arrays) => self.conflicting_arrays.extend(arrays),
            }
        }
    }

    /// Decides whether all conditions of one group can hold together.
    fn decide_group(
        &mut self,
        pool: &mut TermPool,
        terms: &[TermId],
        budget: &Budget,
    ) -> Result<Outcome, SolverError> {
        if let Some(why) = budget.exhausted() {
            return Ok(Outcome::Unknown(why));
        }
        if let Some(known) = self.cache.repeated(terms) {
            return Ok(known.into());
        }
        let inputs = self.inputs.all(pool, terms);
        let query = query_cache::canonicalise(pool, &inputs, terms);
        if let Some((query, order)) = &query
            && let Some(known) = self.cache.look_up(pool, query, order)
        {
            self.cache.repeat(terms, &known);
            return Ok(known.into());
        }
        let outcome = self.search(pool, terms, budget)?;
        if let Some((query, order)) = query {
            match &outcome {
                Outcome::Sat(model) => self.cache.insert_sat(pool, query, &order, model),
                Outcome::Unsat(core) => self.cache.insert_unsat(query, core),
                Outcome::Unknown(_) => {}
            }
        }
        Ok(outcome)
    }

    /// Decides conditions with the engine. Alternates between attempts in which opaque terms are
    /// unknowns and exact attempts, each time with more effort.
    fn search(
        &mut self,
        pool: &mut TermPool,
        terms: &[TermId],
        budget: &Budget,
    ) -> Result<Outcome, SolverError> {
        let opaque = self.coarse.view.opaque(pool, terms);
        if opaque.is_empty() {
            let effort = if self.brief { Effort::Quick } else { Effort::Unlimited };
            self.coarse.set_effort(effort);
            let answer =
                refinement::satisfy(&mut self.coarse, &mut self.inputs, pool, terms, budget)?;
            return Ok(decided(answer));
        }
        let any_decided_exactly = opaque.iter().any(|term| self.decided_exactly.contains(term));
        let turns = [(Effort::Quick, 0..1), (Effort::Longer, 1..ROUNDS), (Effort::Unlimited, 0..0)];
        for (effort, rounds) in turns {
            let skipped = rounds.is_empty() || (any_decided_exactly && effort == Effort::Quick);
            if !skipped
                && let Some(outcome) = self.search_coarsely(pool, terms, effort, rounds, budget)?
            {
                return Ok(outcome);
            }
            let exact = match &mut self.exact {
                Some(exact) => exact,
                None => {
                    let engine = self.coarse.engine.fork()?;
                    self.exact.insert(Session::new(engine, View::default()))
                }
            };
            exact.set_effort(effort);
            let answer = refinement::satisfy(exact, &mut self.inputs, pool, terms, budget)?;
            if effort == Effort::Unlimited
                || self.brief
                || budget.exhausted().is_some()
                || !matches!(answer, Answer::Unknown(_))
            {
                self.decided_exactly.extend(opaque);
                return Ok(decided(answer));
            }
        }
        Ok(Outcome::Unknown("gave up".to_owned()))
    }

    /// Tries to decide conditions while opaque terms (such as hashes) are unknowns. If the engine's
    /// model is wrong, tries a few concrete values for the inputs of opaque terms. Returns `None`
    /// if no attempt decides the conditions.
    fn search_coarsely(
        &mut self,
        pool: &mut TermPool,
        terms: &[TermId],
        effort: Effort,
        rounds: Range<u64>,
        budget: &Budget,
    ) -> Result<Option<Outcome>, SolverError> {
        let (session, inputs) = (&mut self.coarse, &mut self.inputs);
        session.set_effort(effort);
        let start = match refinement::satisfy(session, inputs, pool, terms, budget)? {
            Answer::Candidate(model, wrong) if wrong.is_empty() => {
                return Ok(Some(Outcome::Sat(model)));
            }
            Answer::Candidate(model, _) => model,
            Answer::Unsat(core) => return Ok(Some(Outcome::Unsat(core))),
            Answer::Unknown(_) => return Ok(None),
        };
        let mut tools = SolverContext { session, inputs, budget };
        let found = self.concretiser.model(&mut tools, pool, terms, &start, rounds)?;
        Ok(found.map(Outcome::Sat))
    }
}

impl From<CachedOutcome> for Outcome {
    fn from(known: CachedOutcome) -> Outcome {
        match known {
            CachedOutcome::Sat(model) => Outcome::Sat(model),
            CachedOutcome::Unsat(core) => Outcome::Unsat(core),
        }
    }
}

/// Converts an answer of the exact session, in which the engine translates all terms, into an
/// outcome of the solver.
fn decided(answer: Answer) -> Outcome {
    match answer {
        // If the model violates a condition, `verify` reports this.
        Answer::Candidate(model, _) => Outcome::Sat(model),
        Answer::Unsat(core) => Outcome::Unsat(core),
        Answer::Unknown(why) => Outcome::Unknown(why),
    }
}

/// Evaluates the assumptions under a model, and fails if one of them is not 1.
fn verify<E: Engine>(
    pool: &TermPool,
    model: &Model,
    active: &[(usize, TermId)],
) -> Result<(), SolverError> {
    let mut values = TermMap::new(pool.len());
    let compute = |_: &TermMap<u64>, term, operands| node_value(pool, model, term, operands);
    for &(index, term) in active {
        if evaluate(pool, term, &mut values, compute) != 1 {
            let term: String = pool.display(term).chars().take(200).collect();
            return Err(SolverError::WrongModel { backend: E::NAME, index, term });
        }
    }
    Ok(())
}

impl<E: Engine> Solver for Layered<E> {
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError> {
        let start = Instant::now();
        let outcome = self.decide(pool, assumptions);
        self.statistics.checks += 1;
        self.statistics.seconds += start.elapsed().as_secs_f64();
        match &outcome {
            Ok(Outcome::Sat(_)) => self.statistics.sat += 1,
            Ok(Outcome::Unsat(_)) => self.statistics.unsat += 1,
            Ok(Outcome::Unknown(_)) => self.statistics.unknown += 1,
            Err(_) => {}
        }
        outcome
    }

    fn set_time_limit(&mut self, limit: Option<Duration>) {
        self.time_limit = limit;
    }

    fn set_step_limit(&mut self, limit: Option<u64>) {
        self.step_limit = limit;
    }

    fn set_brief(&mut self, brief: bool) {
        self.brief = brief;
    }

    fn statistics(&self) -> SolverStatistics {
        self.statistics
    }
}
