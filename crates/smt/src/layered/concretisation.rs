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

/// Number of models, with opaque terms as unknowns, from which the search starts.
pub(super) const ROUNDS: u64 = 6;
/// Number of combinations of values that are evaluated for each start model.
const SAMPLES: u64 = 96;
/// Maximum number of these combinations, for each start model, that the engine checks.
const CHECKS: usize = 2;

/// Searches for models with concrete inputs, and remembers values that led to models.
#[derive(Debug, Default)]
pub(super) struct Concretiser {
    hints: FastMap<TermId, u64>,
}

impl Concretiser {
    /// Searches for a model of `terms`. The model `start` satisfies them if opaque terms are
    /// unknowns, but these have wrong values. `rounds` is the part of `0..`[`ROUNDS`] to run.
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

    /// Returns values for the fixed inputs. They come from a model. Values from earlier successes
    /// take precedence for inputs that occur only inside opaque terms, or for all inputs if `all`
    /// is true.
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
