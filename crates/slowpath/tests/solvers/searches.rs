//! Searches with as many solver queries as possible.

use super::programs::Case;
use slowpath_search::{Event, Search, SearchOptions};
use slowpath_smt::{Solver, SolverStatistics};

/// Number of slowest paths to find per program.
const PATHS: usize = 50;
/// Maximum number of steps for finding the slowest path.
const MOST_STEPS: usize = 10_000;

/// Kind of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// Search with default options, without limits until the slowest path is found.
    AsUsed,
    /// Search in which every decision that can be a query is one.
    Asking,
    /// Enumeration of all paths, with a query at each branch.
    Branches,
}

pub const WAYS: [Way; 3] = [Way::AsUsed, Way::Asking, Way::Branches];

/// Limits after which a search ends.
pub struct Enough {
    /// Maximum number of steps.
    pub steps: usize,
    /// Maximum number of queries.
    pub queries: u64,
    /// Maximum time of the queries in seconds.
    pub seconds: f64,
}

/// Runs a search. Returns the solver's statistics at the end, as `asked` reads them.
pub fn search<S: Solver>(
    case: &Case,
    way: Way,
    solver: S,
    asked: impl Fn(&S) -> SolverStatistics,
    enough: &Enough,
) -> SolverStatistics {
    let options = match way {
        Way::AsUsed => SearchOptions::default(),
        Way::Asking | Way::Branches => {
            SearchOptions { facts: false, guess: false, ..SearchOptions::default() }
        }
    };
    let (model, target) = (&case.model, case.target.clone());
    let (unrolled, packets) = (case.unroll(), case.packets());
    let mut search =
        Search::with_options(unrolled, model, target, case.metric, packets, solver, options);
    if way == Way::Branches {
        search.enumerate_all();
    }
    let (mut paths, mut steps) = (0, 0);
    loop {
        let so_far = asked(search.solver());
        let ended = steps >= enough.steps
            || so_far.checks >= enough.queries
            || so_far.seconds >= enough.seconds;
        if paths >= PATHS || ended && (paths > 0 || way != Way::AsUsed) {
            return so_far;
        }
        steps += 1;
        assert!(steps <= MOST_STEPS, "{}, {way:?}: the slowest path is not found", case.name);
        match search.step().unwrap_or_else(|error| panic!("{}, {way:?}: {error}", case.name)) {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(_) => paths += 1,
            Event::Complete => return asked(search.solver()),
            Event::GaveUp(why) => panic!("{}, {way:?}: {why}", case.name),
        }
    }
}
