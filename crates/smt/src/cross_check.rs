//! A solver for tests that passes every check to two solvers. It returns the answer of the first
//! one, and fails if the second one contradicts it.

use std::time::Duration;

use crate::error::SolverError;
use crate::pool::TermPool;
use crate::solver::{Outcome, Solver, SolverStatistics};
use crate::term::TermId;

/// A solver that returns the answers of `first` and compares them with those of `second`. A check
/// fails if one solver finds a model and the other answers "unsatisfiable". It also fails if
/// `second` finds a model for the conditions that contradict each other according to `first`. An
/// answer "unknown" contradicts no answer.
#[derive(Debug)]
pub struct CrossCheck<A, B> {
    /// Solver whose answers are returned.
    pub first: A,
    /// Solver that the answers are compared with.
    pub second: B,
}

impl<A: Solver, B: Solver> CrossCheck<A, B> {
    fn compare(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
        answer: &Outcome,
    ) -> Result<(), SolverError> {
        let (asked, wrong): (Vec<TermId>, fn(&Outcome) -> bool) = match answer {
            Outcome::Sat(_) => (assumptions.to_vec(), |o| matches!(o, Outcome::Unsat(_))),
            Outcome::Unsat(core) => {
                (core.iter().filter_map(|&n| assumptions.get(n).copied()).collect(), |o| {
                    matches!(o, Outcome::Sat(_))
                })
            }
            Outcome::Unknown(_) => return Ok(()),
        };
        let other = self.second.check(pool, &asked)?;
        if !wrong(&other) {
            return Ok(());
        }
        let terms: Vec<String> = asked.iter().map(|&term| pool.display(term).to_string()).collect();
        let satisfiable = matches!(answer, Outcome::Sat(_));
        Err(SolverError::Disagreement { satisfiable, conditions: terms.join("\n") })
    }
}

impl<A: Solver, B: Solver> Solver for CrossCheck<A, B> {
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError> {
        let answer = self.first.check(pool, assumptions)?;
        self.compare(pool, assumptions, &answer)?;
        Ok(answer)
    }

    fn set_time_limit(&mut self, limit: Option<Duration>) {
        self.first.set_time_limit(limit);
        self.second.set_time_limit(limit);
    }

    fn set_step_limit(&mut self, limit: Option<u64>) {
        self.first.set_step_limit(limit);
        self.second.set_step_limit(limit);
    }

    fn set_brief(&mut self, brief: bool) {
        self.first.set_brief(brief);
    }

    fn statistics(&self) -> SolverStatistics {
        self.first.statistics()
    }
}
