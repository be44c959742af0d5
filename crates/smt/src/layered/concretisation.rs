//! Concretisation of what opaque terms consist of. Most inputs satisfy conditions behind hash
//! functions and checksums, so values are chosen for the inputs of these and put into the
//! conditions, and only what is left is asked: what the chosen elements of a map have to contain,
//! for example (as concolic execution does with functions that solvers cannot invert: Godefroid,
//! Klarlund and Sen, "DART", PLDI 2005).
//!
//! Finds models, never contradictions. Everything is counted in steps and drawn from a fixed
//! sequence, so that equal questions get equal answers.

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
pub(super) use tools::Tools;

/// Models of what is not opaque, to start from.
pub(super) const ROUNDS: u64 = 6;
/// Samples that are evaluated for each.
const SAMPLES: u64 = 96;
/// Samples that the engine is asked about for each.
const CHECKS: usize = 2;

/// Chooses values; remembers those that were good.
#[derive(Debug, Default)]
pub(super) struct Concretiser {
    hints: FastMap<TermId, u64>,
}

impl Concretiser {
    /// A model of `terms`, from one in which only what is opaque to the session is wrong. The
    /// rounds to go through are some of [`ROUNDS`].
    pub(super) fn model<E: Engine>(
        &mut self,
        tools: &mut Tools<'_, E>,
        pool: &mut TermPool,
        terms: &[TermId],
        start: &Model,
        rounds: Range<u64>,
    ) -> Result<Option<Model>, SolverError> {
        let plan = Plan::new(tools, pool, terms);
        if rounds.contains(&0) && plan.fixed.iter().any(|input| self.hints.contains_key(input)) {
            let values = self.hinted(pool, &plan, start, true);
            if plan.allows(pool, &values, start)
                && let Some(model) = plan.ask(tools, pool, terms, &values, start)?
            {
                return Ok(Some(model));
            }
        }
        let mut start = start.clone();
        for round in rounds {
            if tools.budget.over().is_some() {
                break;
            }
            if round > 0 {
                match plan.renewed(tools, pool, terms, round)? {
                    Some(model) => start = model,
                    None => continue,
                }
            }
            let mut checks = 0;
            for sample in 0..SAMPLES {
                if tools.budget.over().is_some() {
                    return Ok(None);
                }
                let mut values = self.hinted(pool, &plan, &start, false);
                if round + sample > 0 {
                    plan.resample(pool, &mut values, round * SAMPLES + sample);
                }
                if !plan.allows(pool, &values, &start) {
                    continue;
                }
                if let Some(model) = plan.ask(tools, pool, terms, &values, &start)? {
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

    /// The values of a model, with those that were good before for inputs that nothing else depends
    /// on, or for all.
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
