//! One incremental Z3 solver. Each distinct assumption is asserted once as `guard => assumption`; a
//! check passes the guards to Z3's incremental SAT core, so that learnt clauses stay and an unsat
//! core comes for free.
//!
//! An engine with opaque terms answers a weaker question: "unsat" holds for the real one too, a
//! model has to be evaluated.

use std::collections::{HashMap, HashSet};

use ::z3::ast::Bool;
use ::z3::{Params, SatResult, Solver as Z3};

use super::translate::Translator;
use super::watch::{self, Stop};
use super::{BACKEND, LOGIC};
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::TermPool;
use crate::solver::Outcome;
use crate::term::TermId;

/// A Z3 solver with what it has been told.
pub(super) struct Engine {
    pub(super) solver: Z3,
    pub(super) translator: Translator,
    /// Bytes of tables of which everything is asserted.
    pub(super) tabled: HashSet<TermId>,
    guards: HashMap<TermId, Bool>,
    guarded: HashMap<Bool, TermId>,
}

impl Engine {
    /// An engine that knows nothing yet.
    pub(super) fn new(translator: Translator) -> Result<Self, SolverError> {
        let solver = Z3::new_for_logic(LOGIC)
            .ok_or(SolverError::Unavailable { backend: BACKEND, logic: LOGIC })?;
        // Z3 would take SIGINT away from the process while it checks; it is stopped by `watch`.
        let mut parameters = Params::new();
        parameters.set_bool("ctrl_c", false);
        solver.set_params(&parameters);
        Ok(Engine {
            solver,
            translator,
            tabled: HashSet::new(),
            guards: HashMap::new(),
            guarded: HashMap::new(),
        })
    }

    /// Limits each further check of Z3 to so many of its steps (hundreds of nanoseconds each); zero
    /// for no limit. The number of steps is the same every time, unlike the time that they take.
    pub(super) fn set_effort(&mut self, steps: u32) {
        let mut parameters = Params::new();
        parameters.set_u32("rlimit", steps);
        self.solver.set_params(&parameters);
    }

    /// Distinct assumptions so far.
    pub(super) fn assumptions(&self) -> usize {
        self.guards.len()
    }

    fn guard(&mut self, pool: &TermPool, term: TermId) -> Bool {
        if let Some(guard) = self.guards.get(&term) {
            return guard.clone();
        }
        let condition = self.translator.condition(pool, term, &self.solver);
        let guard = Bool::new_const(format!("g{}", term.index()));
        self.solver.assert(guard.implies(&condition));
        self.guards.insert(term, guard.clone());
        self.guarded.insert(guard.clone(), term);
        guard
    }

    /// Whether all of `terms` (none of them constant) can hold, as far as this engine sees; a core
    /// is made of positions in `terms`.
    pub(super) fn check(
        &mut self,
        pool: &TermPool,
        terms: &[TermId],
        stop: &Stop<'_>,
    ) -> Result<Outcome, SolverError> {
        if let Some(reason) = stop.reason() {
            return Ok(Outcome::Unknown(reason.to_owned()));
        }
        let guards: Vec<Bool> = terms.iter().map(|&t| self.guard(pool, t)).collect();
        let leaves = self.translator.leaves(pool, terms.iter().copied());
        loop {
            if let Some(reason) = stop.reason() {
                return Ok(Outcome::Unknown(reason.to_owned()));
            }
            match watch::check(&self.solver, &guards, stop) {
                SatResult::Unsat => return self.unsat_core(terms),
                SatResult::Unknown => {
                    let reason = stop.reason().map(str::to_owned);
                    let reason = reason.or_else(|| self.solver.get_reason_unknown());
                    return Ok(Outcome::Unknown(reason.unwrap_or_else(|| "gave up".to_owned())));
                }
                SatResult::Sat => {
                    if let Some(model) = self.consistent_model(pool, &leaves)? {
                        return Ok(Outcome::Sat(model));
                    }
                }
            }
        }
    }

    fn unsat_core(&self, terms: &[TermId]) -> Result<Outcome, SolverError> {
        let positions: HashMap<TermId, usize> =
            terms.iter().enumerate().rev().map(|(position, &term)| (term, position)).collect();
        let core = self.solver.get_unsat_core();
        let terms = core.iter().filter_map(|guard| self.guarded.get(guard));
        let mut core: Vec<usize> = terms.filter_map(|t| positions.get(t).copied()).collect();
        if core.is_empty() {
            // The permanent facts alone are satisfiable, so an empty core must be wrong.
            return Err(SolverError::Incomplete { backend: BACKEND, missing: "an unsat core" });
        }
        core.sort_unstable();
        core.dedup();
        Ok(Outcome::Unsat(core))
    }
}

/// The positions of the terms that do not hold under a model.
pub(super) fn violated(pool: &TermPool, model: &Model, terms: &[TermId]) -> Vec<usize> {
    let mut evaluator = Evaluator::new(pool, model);
    (0..terms.len()).filter(|&n| evaluator.value(terms[n]) != 1).collect()
}
