//! Concretisation of the inputs of opaque terms. Most inputs satisfy conditions behind hash
//! functions and checksums. So the inputs of opaque terms get concrete values. Only the remaining
//! conditions are checked, for example conditions on the content of the chosen map elements.
//! Concolic execution treats functions that solvers cannot invert in the same way (Godefroid,
//! Klarlund and Sen, "DART", PLDI 2005).
//!
//! Concretisation finds models, never contradictions. It counts steps and draws values from a fixed
//! sequence, so equal checks give equal answers.

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

/// Number of start models, in which opaque terms are unknowns.
pub(super) const ROUNDS: u64 = 6;
/// Number of value samples evaluated for each start model.
const SAMPLES: u64 = 96;
/// Number of samples per start model that are passed to the engine.
const CHECKS: usize = 2;

/// Chooses values of inputs and remembers successful ones.
#[derive(Debug, Default)]
pub(super) struct Concretiser {
    hints: FastMap<TermId, u64>,
}

impl Concretiser {
    /// Searches for a model of `terms`. In the model `start`, only opaque terms have wrong values.
    /// `rounds` is a part of `0..`[`ROUNDS`].
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

    /// Returns the values of a model for the fixed inputs. Previously successful values replace
    /// those of inputs that occur only inside opaque terms, or of all inputs if `all` is set.
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
