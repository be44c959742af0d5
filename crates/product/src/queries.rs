//! Asks the solver, with limits on the effort of each query.
//!
//! The limit of a query is a number of solver steps, so results do not depend on the load of the
//! machine. Queries also have a time limit, but only if the total time is limited.

use crate::multiplications::Multiplications;
use slowpath_smt::{BitSolver, Model, Outcome, Solver, SolverError, TermId, TermPool};
use slowpath_stop::{Reason, Stop};
use std::time::Duration;

/// Maximum number of solver steps for a query; they take about 10 s. The time of a query is also
/// limited to a quarter of the remaining time.
const LONGEST: u64 = 80_000_000;
/// Minimum time limit of each query, unless less time is left in total.
const LEAST: Duration = Duration::from_millis(200);

/// Maximum number of solver steps for a quick query; they take about 2 s. The query whether a path
/// is possible is quick, because it may stay undecided. A quick query also gets at most an eighth
/// of the remaining time. Each undecided query before it halves both limits.
const QUICK_STEPS: u64 = 16_000_000;
/// Maximum number of times that the limits of a quick query are halved.
const HALVES: u32 = 6;

/// Answer of the solver to the question whether conditions can hold together.
pub enum Answer {
    /// The conditions hold for these values.
    Sat(Model),
    /// The conditions cannot hold together.
    Unsat,
    /// The solver could not decide, for this reason.
    Unknown(String),
}

/// Limits on the effort of one query to the solver.
#[derive(Clone, Copy)]
struct Limit {
    /// Maximum number of solver steps.
    steps: u64,
    /// Time limit; `None` if the total time is unlimited.
    time: Option<Duration>,
}

/// A solver with a time limit, and with conditions that are added to every query.
pub struct Queries<'a> {
    solver: BitSolver,
    stop: &'a Stop,
    multiplications: Multiplications,
    /// Conditions that hold in every query.
    assumed: Vec<TermId>,
}

impl<'a> Queries<'a> {
    /// Returns the stop request, which ends all queries.
    pub fn stop(&self) -> &Stop {
        self.stop
    }

    /// Creates a solver that gives up when `stop` requests it.
    pub fn new(stop: &'a Stop) -> Self {
        Queries {
            solver: BitSolver::new(),
            stop,
            multiplications: Multiplications::default(),
            assumed: Vec::new(),
        }
    }

    /// Adds conditions that must also hold in all later queries.
    pub fn assume(&mut self, conditions: impl IntoIterator<Item = TermId>) {
        self.assumed.extend(conditions);
    }

    /// Returns the reason why queries have to stop now; `None` if they may continue.
    pub fn stop_reason(&self) -> Option<&'static str> {
        self.stop.reason().map(|reason| match reason {
            Reason::Interrupted => "interrupted",
            Reason::Deadline | Reason::TimeLimit => "the deadline is over",
            Reason::Memory => "the memory limit is reached",
        })
    }

    /// Asks the solver whether all conditions can hold together.
    ///
    /// # Errors
    /// If the solver contradicts itself.
    pub fn check(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
    ) -> Result<Answer, SolverError> {
        let time = self.stop.remaining().map(|left| (left / 4).max(LEAST).min(left));
        self.check_within(pool, conditions, Limit { steps: LONGEST, time })
    }

    /// Same as [`check`](Self::check), but with fewer solver steps, for queries that may stay
    /// undecided. `undecided_queries` is the number of earlier queries, with fewer conditions, that
    /// stayed undecided. Each of them lowers the limit.
    ///
    /// # Errors
    /// If the solver contradicts itself.
    pub fn check_quickly(
        &mut self,
        pool: &mut TermPool,
        conditions: &[TermId],
        undecided_queries: u32,
    ) -> Result<Answer, SolverError> {
        self.check_within(pool, conditions, self.soon(undecided_queries))
    }

    /// Finds conditions that contradict each other, and returns their indices in the list. Returns
    /// `None` if all conditions can hold together, or if the solver cannot decide quickly (as in
    /// [`check_quickly`](Self::check_quickly)).
    ///
    /// # Errors
    /// If the solver contradicts itself.
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

    /// Returns the limits of a quick query after `undecided_queries` queries that the solver could
    /// not decide. Each of them halves the limits.
    fn soon(&self, undecided_queries: u32) -> Limit {
        let halves = undecided_queries.min(HALVES);
        let time = self.stop.remaining().map(|left| left / 8 / (1 << halves));
        Limit { steps: QUICK_STEPS >> halves, time }
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

    /// Asks whether these conditions can hold together with those that are added to every query. If
    /// they contradict each other, the list of contradictory conditions starts with those of this
    /// query.
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
            // The rewritten conditions depend on each other, so the core contains all of them.
            return Ok(Outcome::Unsat((0..all.len()).collect()));
        }
        self.solver.check(pool, &exact)
    }

    /// Returns the number of queries so far.
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
        // The core must not contain the conditions that hold in every query.
        queries.assume([small]);
        let found = queries.contradiction(&mut pool, &[other, large]);
        assert_eq!(found, Ok(Some(vec![1])));
    }
}
