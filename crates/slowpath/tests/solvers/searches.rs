//! Runs searches for slowest paths that send as many queries as possible to the solver.

use super::programs::Case;
use slowpath_search::{Event, Search, SearchOptions};
use slowpath_smt::{Solver, SolverStatistics};

/// Number of slowest paths to find per program.
const PATHS: usize = 50;
/// Maximum number of steps until the slowest path is found.
const MAX_STEPS: usize = 10_000;

/// Kind of a search for the slowest paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Search with default options. The limits in [`Limits`] do not apply until the slowest path is
    /// found.
    Default,
    /// Search that uses the solver for every decision for which this is possible.
    Queries,
    /// Enumeration of all paths, with a query at each branch.
    Branches,
}

pub const STRATEGIES: [Strategy; 3] = [Strategy::Default, Strategy::Queries, Strategy::Branches];

/// Limits at which a search ends.
pub struct Limits {
    /// Maximum number of steps of the search.
    pub steps: usize,
    /// Maximum number of solver queries.
    pub queries: u64,
    /// Maximum total time of the solver queries, in seconds.
    pub seconds: f64,
}

/// Runs a search, and returns the solver's statistics at its end. `statistics` reads them from the
/// solver.
pub fn search<S: Solver>(
    case: &Case,
    strategy: Strategy,
    solver: S,
    statistics: impl Fn(&S) -> SolverStatistics,
    limits: &Limits,
) -> SolverStatistics {
    let options = match strategy {
        Strategy::Default => SearchOptions::default(),
        Strategy::Queries | Strategy::Branches => {
            SearchOptions { facts: false, guess: false, ..SearchOptions::default() }
        }
    };
    let (model, target) = (&case.model, case.target.clone());
    let (unrolled, packets) = (case.unroll(), case.packets());
    let mut search =
        Search::with_options(unrolled, model, target, case.metric, packets, solver, options);
    if strategy == Strategy::Branches {
        search.enumerate_all();
    }
    let (mut paths, mut steps) = (0, 0);
    loop {
        let so_far = statistics(search.solver());
        let ended = steps >= limits.steps
            || so_far.checks >= limits.queries
            || so_far.seconds >= limits.seconds;
        if paths >= PATHS || ended && (paths > 0 || strategy != Strategy::Default) {
            return so_far;
        }
        steps += 1;
        assert!(steps <= MAX_STEPS, "{}, {strategy:?}: the slowest path is not found", case.name);
        match search.step().unwrap_or_else(|error| panic!("{}, {strategy:?}: {error}", case.name)) {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(_) => paths += 1,
            Event::Complete => return statistics(search.solver()),
            Event::GaveUp(reason) => panic!("{}, {strategy:?}: {reason}", case.name),
        }
    }
}
