//! Questions to the solver, within the time that there is.

use crate::multiplications::Multiplications;
use slowpath_smt::{BitSolver, Model, Outcome, Solver, SolverError, TermId, TermPool};
use slowpath_stop::{Reason, Stop};
use std::time::Duration;

/// Longest time for one question; of what is left, at most a quarter.
const LONGEST: Duration = Duration::from_secs(10);
/// No question gets less, unless it is the last.
const LEAST: Duration = Duration::from_millis(200);

/// Longest time for the question whether a path is possible, which need not be answered; of what is
/// left, at most an eighth, and half for each time that it was not before.
const SOON: Duration = Duration::from_secs(2);
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
        let limit = self.stop.left().map_or(LONGEST, |left| (left / 4).max(LEAST).min(left));
        self.check_within(pool, conditions, limit.min(LONGEST))
    }

    /// The same where it does little harm not to know: for a short time, and for a shorter one if the
    /// solver could not tell before, with fewer conditions.
    ///
    /// # Errors
    /// A solver that contradicts itself.
    pub fn check_soon(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        doubts: u32,
    ) -> Result<Answer, SolverError> {
        let limit = self.stop.left().map_or(SOON, |left| SOON.min(left / 8));
        self.check_within(pool, conditions, limit / (1 << doubts.min(HALVES)))
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
        let limit = self.stop.left().map_or(SOON, |left| SOON.min(left / 8));
        self.solver.set_time_limit(Some(limit));
        let all: Vec<TermId> = conditions.iter().chain(&self.assumed).copied().collect();
        let exact = self.multiplications.quotients(pool, &all);
        if let Some(fewer) = self.multiplications.unknowns(pool, &exact)
            && let Outcome::Unsat(_) = self.solver.check(pool, &fewer)?
        {
            // Some of these hold only where others do.
            return Ok(Some((0..conditions.len()).collect()));
        }
        Ok(match self.solver.check(pool, &exact)? {
            Outcome::Unsat(mut core) => {
                core.retain(|&position| position < conditions.len());
                Some(core)
            }
            Outcome::Sat(_) | Outcome::Unknown(_) => None,
        })
    }

    fn check_within(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        limit: Duration,
    ) -> Result<Answer, SolverError> {
        self.solver.set_time_limit(Some(limit));
        let all: Vec<TermId> = conditions.iter().chain(&self.assumed).copied().collect();
        let conditions = self.multiplications.quotients(pool, &all);
        if let Some(fewer) = self.multiplications.unknowns(pool, &conditions)
            && let Outcome::Unsat(_) = self.solver.check(pool, &fewer)?
        {
            return Ok(Answer::Unsat);
        }
        Ok(match self.solver.check(pool, &conditions)? {
            Outcome::Sat(model) => Answer::Sat(model),
            Outcome::Unsat(_) => Answer::Unsat,
            Outcome::Unknown(why) => Answer::Unknown(why),
        })
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
