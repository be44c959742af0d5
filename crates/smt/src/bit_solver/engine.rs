//! Decides conditions with one incremental SAT solver. Each condition is passed to it as an
//! assumption. A gate's clauses define its output both when it is true and when it is false, so
//! conditions need no guard variables. All clauses, including learnt ones, are kept for later
//! checks.

use super::blast::Blaster;
use crate::error::SolverError;
use crate::layered::budget::Budget;
use crate::layered::engine::{self, Effort, EngineAnswer, Lemma};
use crate::layered::view::View;
use crate::pool::{FastMap, TermPool};
use crate::sat::{Answer, Hook, Lit};
use crate::term::TermId;
use slowpath_stop::{Reason, Stop};

/// Maximum number of variables that the SAT solver assigns in a check of limited effort. An
/// assignment takes some tens of nanoseconds.
const QUICK: u64 = 1_000_000;
const LONGER: u64 = 20_000_000;

/// A SAT solver, and the terms that have been translated for it.
#[derive(Debug)]
pub(crate) struct Engine {
    blaster: Blaster,
    effort: Option<u64>,
    /// Number of SAT solver steps that have already been subtracted from the budgets of checks.
    spent: u64,
    /// For each translated condition, its literal.
    conditions: FastMap<TermId, Lit>,
}

impl Default for Engine {
    fn default() -> Self {
        Engine::with_hook(Hook::default())
    }
}

impl Engine {
    /// Creates an engine whose SAT solver reports events to `hook`.
    pub(crate) fn with_hook(hook: Hook) -> Self {
        let (blaster, conditions) = (Blaster::new(hook), FastMap::default());
        Engine { blaster, effort: None, spent: 0, conditions }
    }

    fn condition(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        term: TermId,
        stop: &Stop,
    ) -> Result<Lit, Reason> {
        if let Some(&lit) = self.conditions.get(&term) {
            return Ok(lit);
        }
        let bits = self.blaster.bits_unless(pool, view, term, stop)?;
        let lit = bits.first().copied().unwrap_or(self.blaster.gates.constant(true));
        self.conditions.insert(term, lit);
        Ok(lit)
    }

    /// Subtracts from a budget the steps that the SAT solver took since the last call of this
    /// function.
    fn spend(&mut self, budget: &Budget) {
        let steps = self.blaster.gates.sat.steps();
        budget.spend(steps - self.spent);
        self.spent = steps;
    }

    fn same(&mut self, pool: &TermPool, view: &mut View, [a, b]: [TermId; 2]) -> Lit {
        let (a, b) = (self.blaster.bits(pool, view, a), self.blaster.bits(pool, view, b));
        self.blaster.gates.equal(&a, &b)
    }
}

impl engine::Engine for Engine {
    const NAME: &'static str = "the bit-vector solver";

    fn fork(&self) -> Result<Self, SolverError> {
        Ok(Engine::with_hook(self.blaster.gates.sat.hook.fork()))
    }

    fn set_effort(&mut self, effort: Effort) {
        self.effort = match effort {
            Effort::Quick => Some(QUICK),
            Effort::Longer => Some(LONGER),
            Effort::Unlimited => None,
        };
    }

    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError> {
        let mut assumptions: Vec<Lit> = Vec::with_capacity(terms.len());
        let mut positions: FastMap<Lit, usize> = FastMap::default();
        for (position, &term) in terms.iter().enumerate() {
            let lit = match self.condition(pool, view, term, budget.stop()) {
                Ok(lit) => lit,
                Err(reason) => return Ok(EngineAnswer::Unknown(reason.to_string())),
            };
            match self.blaster.gates.as_constant(lit) {
                Some(false) => return Ok(EngineAnswer::Unsat(vec![position])),
                Some(true) => {}
                None => {
                    positions.entry(lit).or_insert_with(|| {
                        assumptions.push(lit);
                        position
                    });
                }
            }
        }
        let inputs: Vec<Lit> =
            leaves.iter().filter_map(|&leaf| self.blaster.known(leaf)).flatten().copied().collect();
        let gates = &mut self.blaster.gates;
        let relevant = gates.cone(inputs.into_iter().chain(assumptions.iter().copied()));
        budget.spend(relevant.len() as u64);
        self.spend(budget);
        if let Some(why) = budget.exhausted() {
            return Ok(EngineAnswer::Unknown(why));
        }
        let effort = [self.effort, budget.left()].into_iter().flatten().min();
        let stopped = || budget.stop().reason().is_some();
        let answer = self.blaster.gates.sat.solve(&assumptions, &relevant, effort, &stopped);
        self.spend(budget);
        Ok(match answer {
            Answer::Satisfiable => EngineAnswer::Sat,
            Answer::Contradiction => {
                let failed = self.blaster.gates.sat.failed().iter();
                let mut core: Vec<usize> =
                    failed.filter_map(|lit| positions.get(lit).copied()).collect();
                core.sort_unstable();
                core.dedup();
                EngineAnswer::Unsat(core)
            }
            Answer::Stopped => {
                EngineAnswer::Unknown(budget.exhausted().unwrap_or_else(|| "gave up".to_owned()))
            }
        })
    }

    fn value(&self, leaf: TermId) -> Option<u64> {
        let mut value = 0;
        for (place, &bit) in self.blaster.known(leaf)?.iter().enumerate() {
            value |= u64::from(self.blaster.gates.sat.value(bit)?) << place;
        }
        Some(value)
    }

    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma) {
        match lemma {
            Lemma::Bytes { indices, bytes } => {
                let (here, there) = (self.same(pool, view, indices), self.same(pool, view, bytes));
                self.blaster.gates.sat.clause(&[!here, there]);
            }
            Lemma::Numbers { pairs: [first, second], numbers } => {
                let [a, b] = [0, 1].map(|n| self.same(pool, view, [first[n], second[n]]));
                let (pairs, numbers) =
                    (self.blaster.gates.and(a, b), self.same(pool, view, numbers));
                self.blaster.gates.sat.clause(&[!pairs, numbers]);
                self.blaster.gates.sat.clause(&[pairs, !numbers]);
            }
            Lemma::Table { index, first, last, byte, value } => {
                let at = self.blaster.bits(pool, view, index);
                let byte = self.blaster.bits(pool, view, byte);
                let outside = self.blaster.outside(&at, first, last);
                let gates = &mut self.blaster.gates;
                for (place, bit) in byte.into_iter().enumerate() {
                    let wanted = if value >> place & 1 == 1 { bit } else { !bit };
                    gates.sat.clause(&[outside, wanted]);
                }
            }
        }
    }

    fn conditions(&self) -> usize {
        self.conditions.len()
    }
}
