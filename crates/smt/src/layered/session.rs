//! A session: an engine together with its view, which decides the terms that the engine treats as
//! unknowns. The session keeps the constraints on bytes of arrays and numbers of interned pairs
//! that the engine has been given so far.
//!
//! A session with opaque terms decides a weaker problem. Its answer "unsatisfiable" holds for the
//! original problem as well, but a model must be checked by evaluation.

use super::budget::Budget;
use super::engine::{Effort, Engine, EngineAnswer};
use super::view::View;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::solver::Outcome;
use crate::term::TermId;

/// An engine with its view of terms, and a count of wrong values that the engine chose.
pub(super) struct Session<E> {
    pub(super) engine: E,
    pub(super) view: View,
    /// For each byte read from a table of known content, how often the engine chose a wrong value
    /// for it.
    pub(super) table_misses: FastMap<TermId, u32>,
}

impl<E: Engine> Session<E> {
    pub(super) fn new(engine: E, view: View) -> Self {
        Session { engine, view, table_misses: FastMap::default() }
    }

    pub(super) fn set_effort(&mut self, effort: Effort) {
        self.engine.set_effort(effort);
    }

    /// Decides whether all conditions in `terms` can hold while opaque terms (such as hashes) are
    /// unknowns; no condition is constant. If they cannot, the outcome lists the indices of
    /// conditions that contradict each other.
    pub(super) fn check(
        &mut self,
        pool: &TermPool,
        terms: &[TermId],
        budget: &Budget,
    ) -> Result<Outcome, SolverError> {
        let leaves = self.view.leaves(pool, terms.iter().copied());
        loop {
            if let Some(why) = budget.exhausted() {
                return Ok(Outcome::Unknown(why));
            }
            match self.engine.decide(pool, &mut self.view, terms, &leaves, budget)? {
                EngineAnswer::Unsat(core) if core.is_empty() => {
                    // No term is constant, and the clauses are satisfiable without the terms, so an
                    // empty core must be wrong.
                    let missing = "an unsat core";
                    return Err(SolverError::Incomplete { backend: E::NAME, missing });
                }
                EngineAnswer::Unsat(core) => return Ok(Outcome::Unsat(core)),
                EngineAnswer::Unknown(why) => return Ok(Outcome::Unknown(why)),
                EngineAnswer::Sat => {
                    if let Some(model) = self.consistent_model(pool, &leaves)? {
                        return Ok(Outcome::Sat(model));
                    }
                }
            }
        }
    }
}

/// Returns the indices of the conditions that do not hold under a model.
pub(super) fn violated(pool: &TermPool, model: &Model, terms: &[TermId]) -> Vec<usize> {
    let mut evaluator = Evaluator::new(pool, model);
    (0..terms.len()).filter(|&n| evaluator.value(terms[n]) != 1).collect()
}
