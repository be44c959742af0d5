//! Reduces a set of contradictory assumptions to a smaller one. Assumptions are dropped one at a
//! time, and stay dropped if the remaining ones still contradict each other.

use crate::error::SolverError;
use crate::pool::TermPool;
use crate::solver::{Outcome, Solver};
use crate::term::TermId;

/// Returns a subset of `core` that still is contradictory. `core` contains positions in
/// `assumptions` of conditions that cannot hold together. Makes at most `budget` checks and stops
/// at the first undecided check. Unless it stops early, every assumption of the result is
/// necessary. Positions are in increasing order; positions outside `assumptions` are dropped.
///
/// # Errors
///
/// Fails with the errors of [`Solver::check`].
pub fn minimise_core(
    solver: &mut dyn Solver,
    pool: &mut TermPool,
    assumptions: &[TermId],
    core: &[usize],
    budget: usize,
) -> Result<Vec<usize>, SolverError> {
    let mut kept: Vec<usize> = core.iter().copied().filter(|&i| i < assumptions.len()).collect();
    kept.sort_unstable();
    kept.dedup();
    // Later positions are tried first. Conditions late on a path tend to be specific; earlier
    // conditions tend to be necessary for the contradiction.
    let mut tried: Vec<usize> = Vec::new();
    for _ in 0..budget {
        if kept.len() <= 1 {
            break;
        }
        let Some(&candidate) = kept.iter().rev().find(|i| !tried.contains(i)) else { break };
        let rest: Vec<usize> = kept.iter().copied().filter(|&i| i != candidate).collect();
        let terms: Vec<TermId> = rest.iter().map(|&i| assumptions[i]).collect();
        match solver.check(pool, &terms)? {
            // The solver may return a core that is smaller than `rest`.
            Outcome::Unsat(positions) => kept = positions.iter().map(|&p| rest[p]).collect(),
            Outcome::Sat(_) => tried.push(candidate),
            // After a timeout or an interruption, the next check would be undecided as well.
            Outcome::Unknown(_) => break,
        }
    }
    Ok(kept)
}
