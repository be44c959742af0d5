//! Questions to the solver, within the time that there is.

use super::multiplications::Multiplications;
use crate::Error;
use slowpath_smt::{BitSolver, Model, Outcome, Solver, TermId, TermPool};
use slowpath_stop::{Reason, Stop};
use std::time::Duration;

/// Longest time for one question; of what is left, at most a quarter.
const LONGEST: Duration = Duration::from_secs(10);
/// No question gets less, unless it is the last.
const LEAST: Duration = Duration::from_millis(200);

/// Whether conditions can hold together.
pub(super) enum Answer {
    Sat(Model),
    Unsat,
    /// Not decided, and why.
    Unknown(String),
}

/// The solver and its preconditions.
pub(super) struct Queries<'a> {
    solver: BitSolver,
    stop: &'a Stop,
    multiplications: Multiplications,
}

impl<'a> Queries<'a> {
    pub fn new(stop: &'a Stop) -> Self {
        Queries { solver: BitSolver::new(), stop, multiplications: Multiplications::default() }
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
    pub fn check(&mut self, pool: &mut TermPool, conditions: &[TermId]) -> Result<Answer, Error> {
        let limit = self.stop.left().map_or(LONGEST, |left| (left / 4).max(LEAST).min(left));
        self.solver.set_time_limit(Some(limit.min(LONGEST)));
        let conditions = self.multiplications.quotients(pool, conditions);
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
