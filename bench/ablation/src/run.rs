//! One search of a program with one variant, until the slowest path is found or the deadline is
//! reached.

use crate::program::Program;
use crate::variant::{Backend, Order, Variant};
use slowpath_search::{Event, Metric, Search, SearchError, SearchOptions};
use slowpath_smt::{BitSolver, Solver, Z3Solver};
use slowpath_stop::{Limits, Stop};
use slowpath_target::Slowness;
use std::time::{Duration, Instant};

/// Reason why a search ended, with the result of the search.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The slowest path was found; `None` if no path is possible.
    Exact(Option<Slowness>),
    /// The search stopped early.
    Stopped {
        /// Reason for stopping, such as `deadline`.
        why: String,
        /// Upper bound of the slowness of all paths, if known.
        bound: Option<Slowness>,
    },
}

/// Result of a search for the slowest path, and its effort: seconds and counts.
#[derive(Clone, Debug)]
pub struct Run {
    /// Seconds of the search alone, without reading the program and unrolling loops.
    pub seconds: f64,
    /// Number of examined paths. [`Order::EveryBranch`] counts every end of a path that the search
    /// reaches, even if no packet takes the path.
    pub candidates: u64,
    pub solver_checks: u64,
    /// Number of learnt nogoods. A nogood is a set of branches that no packet takes together.
    pub nogoods: usize,
    pub end: End,
}

impl Run {
    /// Searches a program with a variant. Returns `None` if the variant does not apply to the
    /// program.
    ///
    /// # Errors
    /// If unrolling, execution or the solver fails.
    pub fn of(
        program: &Program,
        variant: &Variant,
        deadline: Duration,
    ) -> Result<Option<Self>, String> {
        if variant.order != Order::Separate {
            return searched(program, variant, variant.options, deadline).map(Some);
        }
        let components = program.model.overhead().len();
        if components == 1 || matches!(program.metric, Metric::Component(_)) {
            return Ok(None);
        }
        let mut sum: Option<Run> = None;
        for component in 0..components {
            let options = SearchOptions { only_component: Some(component), ..variant.options };
            let spent = sum.as_ref().map_or(0.0, |run| run.seconds);
            let left = deadline.saturating_sub(Duration::from_secs_f64(spent));
            let run = searched(program, variant, options, left)?;
            sum = Some(match sum {
                Some(before) => before.and(run),
                None => run,
            });
        }
        Ok(sum)
    }

    /// Returns true if the slowest path is known.
    pub fn is_exact(&self) -> bool {
        matches!(self.end, End::Exact(_))
    }

    /// Combines the searches for two components of the target: adds their efforts, and takes the
    /// slower of the two slowest paths. If a search has no bound, the result has none.
    fn and(self, other: Run) -> Run {
        let end = match (self.end, other.end) {
            (End::Exact(one), End::Exact(other)) => End::Exact(one.max(other)),
            (End::Stopped { why, bound }, End::Exact(known))
            | (End::Exact(known), End::Stopped { why, bound }) => {
                // Without a bound on one component, the combination has none.
                End::Stopped {
                    why,
                    bound: bound.map(|bound| known.map_or(bound, |k| k.max(bound))),
                }
            }
            (End::Stopped { why, bound }, End::Stopped { bound: other, .. }) => {
                End::Stopped { why, bound: bound.zip(other).map(|(one, other)| one.max(other)) }
            }
        };
        Run {
            seconds: self.seconds + other.seconds,
            candidates: self.candidates + other.candidates,
            solver_checks: self.solver_checks + other.solver_checks,
            nogoods: self.nogoods + other.nogoods,
            end,
        }
    }
}

fn searched(
    program: &Program,
    variant: &Variant,
    options: SearchOptions,
    deadline: Duration,
) -> Result<Run, String> {
    match variant.backend {
        Backend::InHouse => search(program, variant.order, options, BitSolver::new(), deadline),
        Backend::Z3 => {
            let solver = Z3Solver::new().map_err(|error| error.to_string())?;
            search(program, variant.order, options, solver, deadline)
        }
    }
}

fn search<S: Solver>(
    program: &Program,
    order: Order,
    options: SearchOptions,
    solver: S,
    deadline: Duration,
) -> Result<Run, String> {
    let mut unrolled = program.unroll()?;
    let limits = Limits { time: Some(deadline), ..Limits::default() };
    unrolled.executor.pool.set_stop(Stop::new(limits));
    let started = Instant::now();
    let Program { model, target, metric, .. } = program;
    let mut search = Search::with_options(
        unrolled,
        model,
        target.clone(),
        *metric,
        program.packets(),
        solver,
        options,
    );
    if order == Order::EveryBranch {
        search.enumerate_all();
    }
    let mut slowest = None;
    let stopped = loop {
        if started.elapsed() >= deadline {
            break Some("deadline".to_owned());
        }
        let event = match search.step() {
            Err(SearchError::Stopped(_)) => break Some("deadline".to_owned()),
            event => event.map_err(|error| error.to_string())?,
        };
        match event {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(found) => {
                slowest = slowest.max(Some(search.slowness(&found.cost, found.length).1));
                if order != Order::EveryBranch {
                    break None;
                }
            }
            Event::Complete => break None,
            Event::GaveUp(_) if started.elapsed() >= deadline => break Some("deadline".to_owned()),
            Event::GaveUp(why) => break Some(why),
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let bound = || match order {
        Order::EveryBranch => None,
        Order::SlowestFirst | Order::Separate => search.bound().map(|bound| bound.slowness),
    };
    let end = match stopped {
        None => End::Exact(slowest),
        Some(why) => End::Stopped { why, bound: bound() },
    };
    Ok(Run {
        seconds,
        candidates: search.statistics().candidates,
        solver_checks: search.solver().statistics().checks,
        nogoods: search.nogoods(),
        end,
    })
}
