//! Conditions behind hash functions and checksums: most inputs satisfy them. Values are chosen for
//! what the opaque terms consist of, put into the conditions, and only what is left of these is
//! asked: what the chosen elements of a map have to contain, for example.
//!
//! Finds models, never contradictions. Everything is counted in steps and drawn from a fixed
//! sequence, so that equal questions get equal answers.

mod draw;
mod plan;

use std::ops::Range;

use super::engine::Engine;
use super::inputs::Inputs;
use super::session::Session;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::TermId;
use plan::Plan;
use slowpath_stop::Stop;

/// Models of what is not opaque, to start from.
pub(super) const ROUNDS: u64 = 6;
/// Choices that are evaluated for each.
const DRAWS: u64 = 96;
/// Choices that the engine is asked about for each.
const CHECKS: usize = 2;

/// Chooses values; remembers those that were good.
#[derive(Debug, Default)]
pub(super) struct Pins {
    hints: FastMap<TermId, u64>,
}

/// What pinning needs to know of its surroundings.
pub(super) struct Tools<'a, E> {
    pub(super) session: &'a mut Session<E>,
    pub(super) inputs: &'a mut Inputs,
    pub(super) stop: &'a Stop,
}

impl Pins {
    /// A model of `terms`, from one in which only what is opaque to the session is wrong. The rounds
    /// to go through are some of [`ROUNDS`].
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
            if tools.stop.reason().is_some() {
                break;
            }
            if round > 0 {
                match plan.renewed(tools, pool, terms, round)? {
                    Some(model) => start = model,
                    None => continue,
                }
            }
            let mut checks = 0;
            for draw in 0..DRAWS {
                if tools.stop.reason().is_some() {
                    return Ok(None);
                }
                let mut values = self.hinted(pool, &plan, &start, false);
                if round + draw > 0 {
                    plan.draw(pool, &mut values, round * DRAWS + draw);
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
