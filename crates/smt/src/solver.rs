//! What every solver back end offers. Back ends are told nothing about programs: they get 1-bit
//! terms and say whether these can all be set at once.

use std::time::Duration;

use crate::error::SolverError;
use crate::model::Model;
use crate::pool::TermPool;
use crate::term::TermId;

/// The answer to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All assumptions can hold: with these values, which have been verified by evaluation.
    Sat(Model),
    /// The assumptions at these positions (in increasing order) cannot hold together. Not
    /// necessarily a smallest set; see [`minimise_core`](crate::minimise_core).
    Unsat(Vec<usize>),
    /// Not decided, and why: a limit or an interruption. Must be treated as possibly satisfiable.
    Unknown(String),
}

/// What a solver has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolverStatistics {
    /// Checks asked for.
    pub checks: u64,
    /// Answers "satisfiable".
    pub sat: u64,
    /// Answers "unsatisfiable".
    pub unsat: u64,
    /// Checks that ended without an answer.
    pub unknown: u64,
    /// Steps that checks took ([`Solver::set_step_limit`]).
    pub steps: u64,
    /// Wall-clock time spent in checks, in seconds.
    pub seconds: f64,
}

/// A decision procedure for conjunctions of 1-bit terms.
///
/// A solver belongs to one pool: the ids of every check must come from the same one.
pub trait Solver {
    /// Whether the unknowns can have values, within their domains, under which all `assumptions`
    /// are set. What was learnt in one check is used in later ones. When the pool's stop says so
    /// ([`TermPool::stop`]), the answer is [`Outcome::Unknown`].
    ///
    /// # Errors
    ///
    /// An assumption wider than one bit, or a back end that contradicts itself.
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError>;

    /// The longest that one check may take; `None` for no limit.
    fn set_time_limit(&mut self, limit: Option<Duration>);

    /// The most steps that one check may take, of the solver's own and some tens of nanoseconds each: a
    /// limit that is the same every time. `None` for no limit.
    fn set_step_limit(&mut self, limit: Option<u64>);

    /// Whether to answer "unknown" to what takes more than some tens of milliseconds, measured in
    /// steps of the solver's own, so that it is the same every time. A solver starts without.
    fn set_brief(&mut self, brief: bool);

    /// Counts and time since the solver was made.
    fn statistics(&self) -> SolverStatistics;
}
