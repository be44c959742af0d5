//! The interface of all solvers. A solver receives 1-bit terms and decides whether all of them can
//! be 1 together. It does not know programs.

use std::time::Duration;

use crate::error::SolverError;
use crate::model::Model;
use crate::pool::TermPool;
use crate::term::TermId;

/// The answer of a solver to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Satisfiable. Evaluation has confirmed that all assumptions are 1 in the model.
    Sat(Model),
    /// Unsatisfiable. The assumptions at these indices (in ascending order) cannot hold together.
    /// The set need not be minimal; see [`minimise_core`](crate::minimise_core).
    Unsat(Vec<usize>),
    /// Undecided because of a limit or an interruption, with the reason. Callers must treat the
    /// assumptions as possibly satisfiable.
    Unknown(String),
}

/// Counts and total time of all checks that a solver has made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolverStatistics {
    /// Number of checks.
    pub checks: u64,
    /// Number of answers "satisfiable".
    pub sat: u64,
    /// Number of answers "unsatisfiable".
    pub unsat: u64,
    /// Number of checks that ended undecided.
    pub unknown: u64,
    /// Number of solver steps in all checks; see [`Solver::set_step_limit`].
    pub steps: u64,
    /// Wall-clock time spent in checks, in seconds.
    pub seconds: f64,
}

/// Decides whether several 1-bit terms can all be 1.
///
/// A solver belongs to one pool: the terms of all its checks must come from this pool.
pub trait Solver {
    /// Decides whether all `assumptions` can be 1 for some values of the unknowns within their
    /// domains. The solver keeps what it learns for later checks. The answer is
    /// [`Outcome::Unknown`] if the pool's stop condition ([`TermPool::stop`]) holds before the
    /// check is decided.
    ///
    /// # Errors
    ///
    /// Fails if an assumption is wider than one bit, or if the back end contradicts itself.
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError>;

    /// Limits the duration of each check; `None` for no limit.
    fn set_time_limit(&mut self, limit: Option<Duration>);

    /// Limits the number of solver steps in each check; `None` for no limit. A step takes some tens
    /// of nanoseconds. Unlike a time limit, a step limit has the same effect in every run.
    fn set_step_limit(&mut self, limit: Option<u64>);

    /// Enables or disables brief checks, which end undecided after some tens of milliseconds. Their
    /// limit is counted in solver steps, so results are reproducible. Disabled by default.
    fn set_brief(&mut self, brief: bool);

    /// Returns counts and time of all checks since the solver was created.
    fn statistics(&self) -> SolverStatistics;
}
