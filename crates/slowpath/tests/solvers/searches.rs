//! Searches that ask a solver as much as possible.

use super::programs::Case;
use slowpath_search::{Event, Search, SearchOptions};
use slowpath_smt::{Solver, SolverStatistics};

/// Slowest paths of a program.
const PATHS: usize = 50;
/// Most steps that the slowest path may take to find.
const MOST_STEPS: usize = 10_000;

/// What is searched, and with what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// As users do. Everything is asked until the slowest path is found, whatever it takes.
    AsUsed,
    /// All that can be a query is one.
    Asking,
    /// All paths, with a query at branches.
    Branches,
}

pub const WAYS: [Way; 3] = [Way::AsUsed, Way::Asking, Way::Branches];

/// When a search has shown enough.
pub struct Enough {
    /// After so many steps,
    pub steps: usize,
    /// so many queries,
    pub queries: u64,
    /// or when these have taken so many seconds.
    pub seconds: f64,
}

/// Searches with a solver; what `asked` says about that at the end.
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
        search.exhaust();
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
            Event::Working | Event::Bound(_) | Event::Reached(_) => {}
            Event::Path(_) => paths += 1,
            Event::Complete => return asked(search.solver()),
            Event::GaveUp(why) => panic!("{}, {way:?}: {why}", case.name),
        }
    }
}
