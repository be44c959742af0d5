//! The crate's own solver. It translates terms into circuits and circuits into clauses (`engine`).
//! A SAT solver then decides whether all clauses can hold together. The solver needs no external
//! library, and its setup cannot fail.

mod blast;
mod circuits;
mod engine;
mod gates;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::error::SolverError;
use crate::layered::Layered;
use crate::pool::TermPool;
use crate::solver::{Outcome, Solver, SolverStatistics};
use crate::term::TermId;
pub(crate) use engine::Engine;

/// A solver that translates conditions into Boolean formulas and decides them with a SAT solver
/// (bit-blasting).
#[derive(Debug)]
pub struct BitSolver {
    layers: Layered<Engine>,
}

impl Default for BitSolver {
    fn default() -> Self {
        BitSolver { layers: Layered::new(Engine::default()) }
    }
}

impl BitSolver {
    /// Creates a solver that has not learnt anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a solver that reports its steps to `trace`, for example to check them.
    #[cfg(feature = "proof")]
    pub fn traced(trace: Box<dyn crate::Trace>) -> Self {
        let hook = crate::sat::Hook { trace: Some(trace) };
        BitSolver { layers: Layered::new(Engine::with_hook(hook)) }
    }
}

impl Solver for BitSolver {
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
