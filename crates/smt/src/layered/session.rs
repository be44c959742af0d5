//! An engine in use: what it sees of terms, and which lemmas about bytes and numbers it has been
//! told.
//!
//! A session with opaque terms answers a weaker question: "unsat" holds for the real one too, a
//! model has to be evaluated.

use super::budget::Budget;
use super::engine::{Effort, Engine, EngineAnswer};
use super::view::View;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::solver::Outcome;
use crate::term::TermId;

/// An engine in use.
pub(super) struct Session<E> {
    pub(super) engine: E,
    pub(super) view: View,
    /// How often bytes of tables were wrong.
    pub(super) tabled: FastMap<TermId, u32>,
}

impl<E: Engine> Session<E> {
    /// A session that knows nothing yet.
    pub(super) fn new(engine: E, view: View) -> Self {
        Session { engine, view, tabled: FastMap::default() }
    }

    /// How long each further question is tried.
    pub(super) fn set_effort(&mut self, effort: Effort) {
        self.engine.set_effort(effort);
    }

    /// Whether all of `terms` (none of them constant) can hold, as far as this session sees; a core
    /// is made of positions in `terms`.
    pub(super) fn check(
        &mut self,
        pool: &TermPool,
        terms: &[TermId],
        budget: &Budget,
    ) -> Result<Outcome, SolverError> {
        let leaves = self.view.leaves(pool, terms.iter().copied());
        loop {
            if let Some(why) = budget.over() {
                return Ok(Outcome::Unknown(why));
            }
            match self.engine.decide(pool, &mut self.view, terms, &leaves, budget)? {
                EngineAnswer::Unsat(core) if core.is_empty() => {
                    // What always holds is satisfiable, so an empty core must be wrong.
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

/// The positions of the terms that do not hold under a model.
pub(super) fn violated(pool: &TermPool, model: &Model, terms: &[TermId]) -> Vec<usize> {
    let mut evaluator = Evaluator::new(pool, model);
    (0..terms.len()).filter(|&n| evaluator.value(terms[n]) != 1).collect()
}
