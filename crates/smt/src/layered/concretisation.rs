//! Replaces inputs of opaque terms by concrete values (concretisation).
//!
//! Opaque terms are hashes and checksums. Almost any input value satisfies the conditions on them.
//! With concrete values, only the remaining conditions must be checked, for example conditions on
//! the content of the chosen map elements. Concolic execution treats functions that solvers cannot
//! invert in the same way (Godefroid, Klarlund and Sen, "DART", PLDI 2005).
//!
//! Concretisation finds models, but never contradictions. It counts steps and draws values from a
//! fixed sequence, so equal checks give equal answers.

mod plan;
mod sample;
mod tools;

use std::ops::Range;

use super::engine::Engine;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::TermId;
use plan::Plan;
pub(super) use tools::SolverContext;

/// Number of start models for the search. A start model satisfies the conditions while opaque terms
/// may have arbitrary values.
pub(super) const ROUNDS: u64 = 6;
/// Number of combinations of input values that are tried by evaluation for each start model.
const SAMPLES: u64 = 96;
/// Maximum number of combinations of input values that the engine checks for each start model.
const CHECKS: usize = 2;

/// Searches for models in which inputs of opaque terms have concrete values. Remembers values that
/// led to models.
#[derive(Debug, Default)]
pub(super) struct Concretiser {
    hints: FastMap<TermId, u64>,
}

impl Concretiser {
    /// Searches for a model of `terms`. `start` is a model that satisfies them only if opaque terms
    /// may have arbitrary values. `rounds` is the part of `0..`[`ROUNDS`] to run; each round except
    /// round 0 uses a new random start model.
    pub(super) fn model<E: Engine>(
        &mut self,
        tools: &mut SolverContext<'_, E>,
        pool: &mut TermPool,
        terms: &[TermId],
        start: &Model,
        rounds: Range<u64>,
    ) -> Result<Option<Model>, SolverError> {
        let plan = Plan::new(tools, pool, terms);
        if rounds.contains(&0) && plan.fixed.iter().any(|input| self.hints.contains_key(input)) {
            let values = self.hinted(pool, &plan, start, true);
            if plan.allows(pool, &values, start)
                && let Some(model) = plan.solve_with_values(tools, pool, terms, &values, start)?
            {
                return Ok(Some(model));
            }
        }
        let mut start = start.clone();
        for round in rounds {
            if tools.budget.exhausted().is_some() {
                break;
            }
            if round > 0 {
                match plan.randomised_start(tools, pool, terms, round)? {
                    Some(model) => start = model,
                    None => continue,
                }
            }
            let mut checks = 0;
            for sample in 0..SAMPLES {
                if tools.budget.exhausted().is_some() {
                    return Ok(None);
                }
                let mut values = self.hinted(pool, &plan, &start, false);
                if round + sample > 0 {
                    plan.resample(pool, &mut values, round * SAMPLES + sample);
                }
                if !plan.allows(pool, &values, &start) {
                    continue;
                }
                if let Some(model) = plan.solve_with_values(tools, pool, terms, &values, &start)? {
                    self.hints.extend(values);
                    return Ok(Some(model));
                }
                checks += 1;
                if checks == CHECKS {
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Returns concrete values for the inputs that the plan selects. They are the values in
    /// `model`, except for inputs that occur only inside opaque terms (or for all inputs if `all`
    /// is true): for these, values that led to a model before are preferred.
    fn hinted(
        &self,
        pool: &TermPool,
        plan: &Plan,
        model: &Model,
        all: bool,
    ) -> FastMap<TermId, u64> {
        let mut evaluator = Evaluator::new(pool, model);
        let mut value = |input: TermId| match self.hints.get(&input) {
            Some(&hint) if all || !plan.shared.contains(&input) => hint,
            _ => evaluator.value(input),
        };
        plan.fixed.iter().map(|&input| (input, value(input))).collect()
    }
}
