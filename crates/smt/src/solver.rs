//! What every solver back end offers. Back ends are told nothing about programs: they get 1-bit
//! terms and say whether these can all be set at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
    /// Wall-clock time spent in checks, in seconds.
    pub seconds: f64,
}

/// Stops the running check of a solver, and all later ones until [`reset`](Self::reset), from any
/// thread: they return [`Outcome::Unknown`].
#[derive(Clone, Debug, Default)]
pub struct Interrupter {
    stop: Arc<AtomicBool>,
}

impl Interrupter {
    /// Asks for a stop.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Lets checks run again.
    pub fn reset(&self) {
        self.stop.store(false, Ordering::SeqCst);
    }

    /// Whether anyone else holds a handle.
    #[cfg(feature = "z3")]
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.stop) > 1
    }

    /// Whether a stop has been asked for.
    pub fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// A decision procedure for conjunctions of 1-bit terms.
///
/// A solver belongs to one pool: the ids of every check must come from the same one.
pub trait Solver {
    /// Whether the unknowns can have values, within their domains, under which all `assumptions`
    /// are set. What was learnt in one check is used in later ones.
    ///
    /// # Errors
    ///
    /// An assumption wider than one bit, or a back end that contradicts itself.
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError>;

    /// A handle that other threads can stop checks with.
    fn interrupter(&self) -> Interrupter;

    /// The longest that one check may take; `None` for no limit.
    fn set_time_limit(&mut self, limit: Option<Duration>);

    /// When all checks have to end, running or not begun; `None` for never.
    fn set_deadline(&mut self, deadline: Option<Instant>);

    /// Whether to answer "unknown" to what takes more than some tens of milliseconds, measured in
    /// steps of the solver's own, so that it is the same every time. A solver starts without.
    fn set_brief(&mut self, brief: bool);

    /// Counts and time since the solver was made.
    fn statistics(&self) -> SolverStatistics;
}
