//! The Z3 back end: incremental, one guard per assumption.
//!
//! Each distinct assumption is asserted once as `guard => assumption`; a check passes the guards to
//! Z3's incremental SAT core, so that learnt clauses stay and an unsat core comes for free. Bytes
//! of arrays and numbers of pairs become independent unknowns; what ties them together is added
//! only where a model violates it (`consistent`).
//!
//! All Z3 objects live in the binding's thread-local context, so a solver cannot change threads.

mod consistent;
#[cfg(test)]
mod tests;
mod translate;
mod watch;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ::z3::ast::Bool;
use ::z3::{Params, SatResult, Solver as Z3};

use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::TermPool;
use crate::solver::{Interrupter, Outcome, Solver, SolverStatistics};
use crate::term::TermId;
use translate::Translator;

const BACKEND: &str = "Z3";
const LOGIC: &str = "QF_BV";

/// Decides conditions with the Z3 library.
pub struct Z3Solver {
    solver: Z3,
    translator: Translator,
    /// Bytes of tables of which everything is asserted.
    tabled: HashSet<TermId>,
    guards: HashMap<TermId, Bool>,
    guarded: HashMap<Bool, TermId>,
    interrupter: Interrupter,
    time_limit: Option<Duration>,
    statistics: SolverStatistics,
}

impl std::fmt::Debug for Z3Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Z3Solver")
            .field("assumptions", &self.guards.len())
            .field("statistics", &self.statistics)
            .finish_non_exhaustive()
    }
}

impl Z3Solver {
    /// A solver that knows nothing yet.
    ///
    /// # Errors
    ///
    /// The installed Z3 has no solver for bit-vectors.
    pub fn new() -> Result<Self, SolverError> {
        let solver = Z3::new_for_logic(LOGIC)
            .ok_or(SolverError::Unavailable { backend: BACKEND, logic: LOGIC })?;
        // Z3 would take SIGINT away from the process while it checks; it is stopped by `watch`.
        let mut parameters = Params::new();
        parameters.set_bool("ctrl_c", false);
        solver.set_params(&parameters);
        Ok(Z3Solver {
            solver,
            translator: Translator::default(),
            tabled: HashSet::new(),
            guards: HashMap::new(),
            guarded: HashMap::new(),
            interrupter: Interrupter::default(),
            time_limit: None,
            statistics: SolverStatistics::default(),
        })
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

    fn decide(&mut self, pool: &TermPool, assumptions: &[TermId]) -> Result<Outcome, SolverError> {
        let deadline = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut active: Vec<(usize, TermId)> = Vec::new();
        for (index, &term) in assumptions.iter().enumerate() {
            let width = pool.width(term);
            if width != 1 {
                return Err(SolverError::NotACondition { index, width });
            }
            match pool.as_const(term) {
                Some(0) => return Ok(Outcome::Unsat(vec![index])),
                Some(_) => {}
                None => active.push((index, term)),
            }
        }
        if active.is_empty() {
            return Ok(Outcome::Sat(Model::new()));
        }
        let guards: Vec<Bool> = active.iter().map(|&(_, t)| self.guard(pool, t)).collect();
        let leaves = self.translator.leaves(pool, active.iter().map(|&(_, t)| t));
        loop {
            let stop = watch::Stop { interrupter: &self.interrupter, deadline };
            if let Some(reason) = stop.reason() {
                return Ok(Outcome::Unknown(reason.to_owned()));
            }
            match watch::check(&self.solver, &guards, &stop) {
                SatResult::Unsat => return self.unsat_core(&active),
                SatResult::Unknown => {
                    let reason = stop.reason().map(str::to_owned);
                    let reason = reason.or_else(|| self.solver.get_reason_unknown());
                    return Ok(Outcome::Unknown(reason.unwrap_or_else(|| "gave up".to_owned())));
                }
                SatResult::Sat => {
                    if let Some(model) = self.consistent_model(pool, &leaves)? {
                        verify(pool, &model, &active)?;
                        return Ok(Outcome::Sat(model));
                    }
                }
            }
        }
    }

    fn unsat_core(&self, active: &[(usize, TermId)]) -> Result<Outcome, SolverError> {
        let mut core: Vec<usize> = Vec::new();
        for guard in self.solver.get_unsat_core() {
            let term = self.guarded.get(&guard);
            let position = active.iter().find(|&&(_, t)| Some(&t) == term);
            core.extend(position.map(|&(index, _)| index));
        }
        if core.is_empty() {
            // The permanent facts alone are satisfiable, so an empty core must be wrong.
            return Err(SolverError::Incomplete { backend: BACKEND, missing: "an unsat core" });
        }
        core.sort_unstable();
        core.dedup();
        Ok(Outcome::Unsat(core))
    }
}

/// Evaluates the assumptions under a model that claims to satisfy them.
fn verify(pool: &TermPool, model: &Model, active: &[(usize, TermId)]) -> Result<(), SolverError> {
    let mut evaluator = Evaluator::new(pool, model);
    for &(index, term) in active {
        if evaluator.value(term) != 1 {
            let term: String = pool.display(term).chars().take(200).collect();
            return Err(SolverError::WrongModel { backend: BACKEND, index, term });
        }
    }
    Ok(())
}

impl Solver for Z3Solver {
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError> {
        let start = Instant::now();
        let outcome = self.decide(pool, assumptions);
        self.statistics.checks += 1;
        self.statistics.seconds += start.elapsed().as_secs_f64();
        match &outcome {
            Ok(Outcome::Sat(_)) => self.statistics.sat += 1,
            Ok(Outcome::Unsat(_)) => self.statistics.unsat += 1,
            Ok(Outcome::Unknown(_)) => self.statistics.unknown += 1,
            Err(_) => {}
        }
        outcome
    }

    fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    fn set_time_limit(&mut self, limit: Option<Duration>) {
        self.time_limit = limit;
    }

    fn statistics(&self) -> SolverStatistics {
        self.statistics
    }
}
