//! An incremental Z3 solver. Each distinct condition is asserted once as `guard => condition`, and
//! a check assumes the guards of its conditions. So Z3's incremental SAT core can keep learnt
//! clauses and provide unsat cores.

use std::collections::HashMap;

use ::z3::ast::{BV, Bool};
use ::z3::{Model, Params, SatResult, Solver as Z3, StatisticsValue};

use super::translate::Translator;
use super::watch;
use crate::domain::mask;
use crate::error::SolverError;
use crate::layered::budget::Budget;
use crate::layered::engine::{self, Effort, EngineAnswer, Lemma};
use crate::layered::view::View;
use crate::pool::TermPool;
use crate::term::TermId;

const BACKEND: &str = "Z3";
const LOGIC: &str = "QF_BV";

/// Maximum number of Z3 steps in a check of limited effort. A step takes some hundreds of
/// nanoseconds.
const QUICK: u32 = 200_000;
const LONGER: u32 = 4_000_000;
/// Number of steps that are subtracted from the budget of a check for each Z3 step.
const EACH: u64 = 5;

/// A Z3 solver, and the terms that have been translated for it.
pub(super) struct Engine {
    solver: Z3,
    translator: Translator,
    guards: HashMap<TermId, Bool>,
    guarded: HashMap<Bool, TermId>,
    model: Option<Model>,
    /// Maximum number of Z3 steps per check; 0 for no limit.
    effort: u32,
}

impl Engine {
    pub(super) fn new() -> Result<Self, SolverError> {
        let solver = Z3::new_for_logic(LOGIC)
            .ok_or(SolverError::Unavailable { backend: BACKEND, logic: LOGIC })?;
        // By default, Z3 handles SIGINT itself during a check. Here, `watch` interrupts checks
        // instead.
        let mut parameters = Params::new();
        parameters.set_bool("ctrl_c", false);
        solver.set_params(&parameters);
        Ok(Engine {
            solver,
            translator: Translator::default(),
            guards: HashMap::new(),
            guarded: HashMap::new(),
            model: None,
            effort: 0,
        })
    }

    fn guard(&mut self, pool: &TermPool, view: &mut View, term: TermId) -> Bool {
        if let Some(guard) = self.guards.get(&term) {
            return guard.clone();
        }
        let condition = self.translator.condition(pool, view, term, &self.solver);
        let guard = Bool::new_const(format!("g{}", term.index()));
        self.solver.assert(guard.implies(&condition));
        self.guards.insert(term, guard.clone());
        self.guarded.insert(guard.clone(), term);
        guard
    }

    /// Returns the number of Z3 steps so far.
    fn steps(&self) -> u64 {
        match self.solver.get_statistics().value("rlimit count") {
            Some(StatisticsValue::UInt(steps)) => steps.into(),
            _ => 0,
        }
    }

    fn unsat_core(&self, terms: &[TermId]) -> Vec<usize> {
        let positions: HashMap<TermId, usize> =
            terms.iter().enumerate().rev().map(|(position, &term)| (term, position)).collect();
        let core = self.solver.get_unsat_core();
        let terms = core.iter().filter_map(|guard| self.guarded.get(guard));
        let mut core: Vec<usize> = terms.filter_map(|t| positions.get(t).copied()).collect();
        core.sort_unstable();
        core.dedup();
        core
    }
}

impl engine::Engine for Engine {
    const NAME: &'static str = BACKEND;

    fn fork(&self) -> Result<Self, SolverError> {
        Engine::new()
    }

    fn set_effort(&mut self, effort: Effort) {
        self.effort = match effort {
            Effort::Quick => QUICK,
            Effort::Longer => LONGER,
            Effort::Unlimited => 0,
        };
    }

    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        _leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError> {
        let guards: Vec<Bool> = terms.iter().map(|&t| self.guard(pool, view, t)).collect();
        // Translation may have used up the budget.
        if let Some(why) = budget.exhausted() {
            return Ok(EngineAnswer::Unknown(why));
        }
        self.model = None;
        let most = budget.left().map(|left| u32::try_from(left / EACH).unwrap_or(u32::MAX).max(1));
        let effort = Some(self.effort).filter(|&effort| effort > 0);
        let mut parameters = Params::new();
        parameters.set_u32("rlimit", effort.into_iter().chain(most).min().unwrap_or(0));
        self.solver.set_params(&parameters);
        let before = self.steps();
        let result = watch::check(&self.solver, &guards, budget.stop());
        budget.spend(self.steps().saturating_sub(before) * EACH);
        Ok(match result {
            SatResult::Unsat => EngineAnswer::Unsat(self.unsat_core(terms)),
            SatResult::Unknown => {
                let reason = budget.exhausted().or_else(|| self.solver.get_reason_unknown());
                EngineAnswer::Unknown(reason.unwrap_or_else(|| "gave up".to_owned()))
            }
            SatResult::Sat => {
                let missing = SolverError::Incomplete { backend: BACKEND, missing: "a model" };
                self.model = Some(self.solver.get_model().ok_or(missing)?);
                EngineAnswer::Sat
            }
        })
    }

    fn value(&self, leaf: TermId) -> Option<u64> {
        self.translator.value(self.model.as_ref()?, leaf)
    }

    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma) {
        let mut bits = |term| self.translator.bits(pool, view, term, &self.solver);
        let mut same = |[a, b]: [TermId; 2]| bits(a).eq(bits(b));
        let fact = match lemma {
            Lemma::Bytes { indices, bytes } => same(indices).implies(same(bytes)),
            Lemma::Numbers { pairs: [first, second], numbers } => {
                let pairs = [0, 1].map(|n| same([first[n], second[n]]));
                Bool::and(&pairs).iff(same(numbers))
            }
            Lemma::Table { index, first, last, byte, value } => {
                let (at, byte) = (bits(index), bits(byte));
                let literal =
                    |value: u64| BV::from_u64(value & mask(pool.width(index)), at.get_size());
                let inside = [at.bvuge(literal(first)), at.bvule(literal(last))];
                Bool::and(&inside).implies(byte.eq(BV::from_u64(u64::from(value), 8)))
            }
        };
        self.solver.assert(fact);
    }

    fn conditions(&self) -> usize {
        self.guards.len()
    }
}
