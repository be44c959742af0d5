//! Smaller unsat cores by deletion: leave out one assumption after the other and keep it out when
//! the rest is still contradictory.

use crate::error::SolverError;
use crate::pool::TermPool;
use crate::solver::{Outcome, Solver};
use crate::term::TermId;

/// A subset of `core` (positions in `assumptions` that cannot hold together) that is still
/// contradictory, after at most `budget` checks and none after one that is cut short. If neither
/// ends it early, no assumption of the result can be left out. Positions are in increasing order;
/// positions outside `assumptions` are dropped.
///
/// # Errors
///
/// Those of [`Solver::check`].
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
    // Positions from `next` on have not been tried; later ones first, because conditions late on a
    // path tend to be the specific ones and those before them the contradiction's context.
    let mut tried: Vec<usize> = Vec::new();
    for _ in 0..budget {
        if kept.len() <= 1 {
            break;
        }
        let Some(&candidate) = kept.iter().rev().find(|i| !tried.contains(i)) else { break };
        let rest: Vec<usize> = kept.iter().copied().filter(|&i| i != candidate).collect();
        let terms: Vec<TermId> = rest.iter().map(|&i| assumptions[i]).collect();
        match solver.check(pool, &terms)? {
            // The new core may be smaller than the attempt.
            Outcome::Unsat(positions) => kept = positions.iter().map(|&p| rest[p]).collect(),
            Outcome::Sat(_) => tried.push(candidate),
            // Out of time or interrupted: the next check would be as well.
            Outcome::Unknown(_) => break,
        }
    }
    Ok(kept)
}
