//! Questions to the solver, within the time that there is.
//!
//! How hard a question may be is counted in steps of the solver, so that what comes of it is the same
//! on a busy machine; time counts only where all of it is limited.

use crate::multiplications::Multiplications;
use slowpath_smt::{BitSolver, Model, Outcome, Solver, SolverError, TermId, TermPool};
use slowpath_stop::{Reason, Stop};
use std::time::Duration;

/// Most steps for one question, about 10 s; of the time that is left, at most a quarter.
const LONGEST: u64 = 80_000_000;
/// No question gets less time, unless it is the last.
const LEAST: Duration = Duration::from_millis(200);

/// Most steps for the question whether a path is possible, which need not be answered, about 2 s; of the
/// time that is left, at most an eighth. Half of both for each time that it was not before.
const SOON: u64 = 16_000_000;
/// And so often.
const HALVES: u32 = 6;

/// Whether conditions can hold together.
pub enum Answer {
    /// They can, with these values.
    Sat(Model),
    /// They cannot.
    Unsat,
    /// Not decided, and why.
    Unknown(String),
}

/// How much a question may take.
#[derive(Clone, Copy)]
struct Limit {
    /// Of the solver.
    steps: u64,
    /// If it is limited at all.
    time: Option<Duration>,
}

/// The solver and its preconditions.
pub struct Queries<'a> {
    solver: BitSolver,
    stop: &'a Stop,
    multiplications: Multiplications,
    /// What always holds.
    assumed: Vec<TermId>,
}

impl<'a> Queries<'a> {
    /// What says when it is time to stop.
    pub fn stop(&self) -> &Stop {
        self.stop
    }

    /// A solver that gives up when it is time to stop.
    pub fn new(stop: &'a Stop) -> Self {
        Queries {
            solver: BitSolver::new(),
            stop,
            multiplications: Multiplications::default(),
            assumed: Vec::new(),
        }
    }

    /// All further questions are about values for which these conditions hold, too.
    pub fn assume(&mut self, conditions: impl IntoIterator<Item = TermId>) {
        self.assumed.extend(conditions);
    }

    /// Why the work has to end now, if it has to.
    pub fn over(&self) -> Option<&'static str> {
        self.stop.reason().map(|reason| match reason {
            Reason::Interrupted => "interrupted",
            Reason::Deadline | Reason::TimeLimit => "the deadline is over",
            Reason::Memory => "the memory limit is reached",
        })
    }

    /// Whether all conditions can hold.
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn check(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
    ) -> Result<Answer, SolverError> {
        let time = self.stop.left().map(|left| (left / 4).max(LEAST).min(left));
        self.check_within(pool, conditions, Limit { steps: LONGEST, time })
    }

    /// The same where it does little harm not to know: with few steps, and with fewer if the solver could
    /// not tell before, with fewer conditions.
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn check_soon(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        doubts: u32,
    ) -> Result<Answer, SolverError> {
        self.check_within(pool, conditions, self.soon(doubts))
    }

    /// Conditions among these that cannot hold together, by their positions; `None` if they all can, or
    /// if that is not known soon ([`check_soon`](Self::check_soon)).
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn contradiction(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
    ) -> Result<Option<Vec<usize>>, SolverError> {
        Ok(match self.ask(pool, conditions, self.soon(0))? {
            Outcome::Unsat(mut core) => {
                core.retain(|&position| position < conditions.len());
                Some(core)
            }
            Outcome::Sat(_) | Outcome::Unknown(_) => None,
        })
    }

    /// How much a question may take that need not be answered, and was not so often before.
    fn soon(&self, doubts: u32) -> Limit {
        let halves = doubts.min(HALVES);
        let time = self.stop.left().map(|left| left / 8 / (1 << halves));
        Limit { steps: SOON >> halves, time }
    }

    fn check_within(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        limit: Limit,
    ) -> Result<Answer, SolverError> {
        Ok(match self.ask(pool, conditions, limit)? {
            Outcome::Sat(model) => Answer::Sat(model),
            Outcome::Unsat(_) => Answer::Unsat,
            Outcome::Unknown(why) => Answer::Unknown(why),
        })
    }

    /// Whether conditions can hold together, with what always holds, which comes behind them.
    fn ask(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        limit: Limit,
    ) -> Result<Outcome, SolverError> {
        self.solver.set_step_limit(Some(limit.steps));
        self.solver.set_time_limit(limit.time);
        let all: Vec<TermId> = conditions.iter().chain(&self.assumed).copied().collect();
        let exact = self.multiplications.quotients(pool, &all);
        if let Some(fewer) = self.multiplications.unknowns(pool, &exact)
            && let Outcome::Unsat(_) = self.solver.check(pool, &fewer)?
        {
            // Some of these hold only where others do.
            return Ok(Outcome::Unsat((0..all.len()).collect()));
        }
        self.solver.check(pool, &exact)
    }

    /// How many questions were asked.
    pub fn checks(&self) -> u64 {
        self.solver.statistics().checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slowpath_smt::Domain;

    #[test]
    fn a_contradiction_is_of_those_conditions_that_it_needs() {
        let mut pool = TermPool::new();
        let [a, b] = ["a", "b"].map(|name| pool.var(name, Domain::full(16)));
        let (five, nine) = (pool.constant(16, 5), pool.constant(16, 9));
        let [small, large] = [pool.ult(a, five), pool.ult(nine, a)];
        let [other, equal] = [pool.ult(b, nine), pool.eq(a, b)];
        let stop = Stop::never();
        let mut queries = Queries::new(&stop);
        let found = queries.contradiction(&mut pool, &[other, small, equal, large]);
        assert_eq!(found, Ok(Some(vec![1, 3])));
        let found = queries.contradiction(&mut pool, &[other, small, equal]);
        assert_eq!(found, Ok(None));
        // What always holds is no part of the answer.
        queries.assume([small]);
        let found = queries.contradiction(&mut pool, &[other, large]);
        assert_eq!(found, Ok(Some(vec![1])));
    }
}
