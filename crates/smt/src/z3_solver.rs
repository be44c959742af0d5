//! A solver that uses the Z3 library. It has the same semantics and layers as the crate's own
//! solver, and tests compare both.
//!
//! All Z3 objects belong to a thread-local context of the binding, so a solver cannot move to
//! another thread.

mod engine;
#[cfg(test)]
mod tests;
mod translate;
mod watch;

use std::time::Duration;

use crate::error::SolverError;
use crate::layered::Layered;
use crate::pool::TermPool;
use crate::solver::{Outcome, Solver, SolverStatistics};
use crate::term::TermId;
use engine::Engine;

/// A solver that decides conditions with the Z3 library.
#[derive(Debug)]
pub struct Z3Solver {
    layers: Layered<Engine>,
}

impl Z3Solver {
    /// Creates a solver that has not learnt anything yet.
    ///
    /// # Errors
    ///
    /// Fails if the installed Z3 has no solver for bit-vectors.
    pub fn new() -> Result<Self, SolverError> {
        Ok(Z3Solver { layers: Layered::new(Engine::new()?) })
    }
}

impl Solver for Z3Solver {
    fn check(
        &mut self,
        pool: &mut TermPool,
        assumptions: &[TermId],
    ) -> Result<Outcome, SolverError> {
        self.layers.check(pool, assumptions)
    }

    fn set_time_limit(&mut self, limit: Option<Duration>) {
        self.layers.set_time_limit(limit);
    }

    fn set_step_limit(&mut self, limit: Option<u64>) {
        self.layers.set_step_limit(limit);
    }

    fn set_brief(&mut self, brief: bool) {
        self.layers.set_brief(brief);
    }

    fn statistics(&self) -> SolverStatistics {
        self.layers.statistics()
    }
}
