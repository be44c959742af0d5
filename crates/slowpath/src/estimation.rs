//! Finds the slowest paths of a program by their estimated times.
//!
//! The analysis needs two searches. The first search finds the guarantee, a bound on counts such as
//! the number of instructions. The second search finds the paths with the largest sums of
//! instruction times. The model of the CPU core then estimates the time of each path. This time is
//! not the sum, because instructions can overlap. The paths are ranked by this estimate. Paths that
//! rank behind the first [`CANDIDATES`] by the sum are not estimated.

use crate::frontend::Lifted;
use crate::job::{
    Job, SearchContext, detailed_path_count, replayed_witness, requested_branches,
    wants_code_of_paths,
};
use crate::options::Options;
use crate::report::{self, Estimated, Estimator, TimeModel};
use crate::result::{
    Detail, DriverTime, Estimate, PathBranch, PathResult, Profile, ProgramResult, RatedTime,
};
use crate::{Error, stages};
use slowpath_estimate::Occupancy;
use slowpath_exec::ArcId;
use slowpath_search::{Event as Found, FoundPath, Metric, Search, SearchError, Unrolled};
use slowpath_smt::BitSolver;
use slowpath_target::{CostModel, CostVector, Target};
use std::collections::BTreeSet;

/// Minimum number of paths whose time is estimated; all paths if the program has fewer.
const CANDIDATES: usize = 50;

/// A path that is kept for the result of the analysis, with its witness (a packet that takes it).
struct Candidate {
    path: PathResult,
    arcs: Vec<ArcId>,
    branches: Vec<PathBranch>,
    /// Index of the path's estimate in [`Candidates::estimated`].
    estimated: usize,
}

/// Target and time model with which paths of a program are ranked by estimated time.
pub(crate) struct Estimation<'a> {
    pub target: &'a Target,
    pub estimator: Estimator<'a>,
}

/// Paths that a search found, with their estimated times.
struct Candidates {
    /// Estimates of all paths, in the order in which the search found them.
    estimated: Vec<Estimated>,
    /// Slowest paths by their estimates in cold caches, slowest first.
    slowest: Vec<Candidate>,
    search: Search<BitSolver>,
    /// The first [`CANDIDATES`] paths that the search found.
    known: Vec<FoundPath>,
    /// Reason why the search ended before enough paths were found, if more may exist.
    stopped: Option<String>,
    /// True if the program has no further paths.
    complete: bool,
}

impl Estimation<'_> {
    /// Replaces the paths in the result, which are ranked by counts such as numbers of
    /// instructions, by the slowest paths by estimated time in cold caches. A second search looks
    /// for the slowest path in warm caches, if map entries make a difference and not all paths are
    /// known. Both searches continue `search` and use its nogoods.
    ///
    /// # Errors
    /// If a path cannot be replayed, which is a defect.
    pub fn rank(
        &self,
        job: &Job<'_>,
        search: Search<BitSolver>,
        context: &SearchContext<'_>,
        (result, detail): (&mut ProgramResult, &mut Detail),
    ) -> Result<(), Error> {
        let lifted = context.lifted;
        let cold = self.estimator.cold;
        let timing = self.estimator.timing();
        let requested = job.request.options.paths.unwrap_or(u64::MAX);
        let kept = usize::try_from(requested).unwrap_or(usize::MAX).max(1);
        let at_cold = self.candidates(job, search, context, (cold, kept), Vec::new())?;
        let Candidates { estimated, slowest: mut found, mut search, known, mut stopped, complete } =
            at_cold;
        let Some(slowest) = found.first().map(|candidate| &estimated[candidate.estimated]) else {
            result.notes.push(no_estimate(&stopped.unwrap_or_default()));
            return Ok(());
        };
        let mut best = slowest.estimate.clone();
        let mut candidates = estimated.len() as u64;
        // Includes the assumptions about all candidates: another path may only be faster because of
        // them.
        let mut assumptions: BTreeSet<String> = BTreeSet::new();
        let mut include = |candidate: &Estimated| {
            assumptions.extend(candidate.assumptions.iter().cloned());
            if candidate.estimate.warm.ns > best.warm.ns {
                best.warm = candidate.estimate.warm.clone();
            }
        };
        estimated.iter().for_each(&mut include);
        let prices = |occupancy| self.estimator.prices(lifted, occupancy);
        let differs = || prices(Occupancy::Few) != prices(cold);
        if stopped.is_none() && !complete && differs() {
            let warm = self.candidates(job, search, context, (Occupancy::Few, 0), known)?;
            warm.estimated.iter().for_each(&mut include);
            candidates = candidates.max(warm.estimated.len() as u64);
            (search, stopped) = (warm.search, warm.stopped);
        }
        result.notes.extend(assumptions);
        let calibration = timing.and_then(|timing| timing.calibration.as_ref());
        let doubt = calibration.and_then(|known| known.doubt.clone());
        result.notes.extend(doubt.iter().map(|doubt| {
            format!(
                "estimates: the calibration is doubtful: \
                 {doubt}"
            )
        }));
        let foreign_cpu = self.estimator.foreign_cpu.map(str::to_owned);
        let advice = match timing {
            Some(_) => "run `slowpath calibrate --quick`",
            None => "`slowpath measure` times the paths on this machine",
        };
        result.notes.extend(foreign_cpu.iter().map(|cpu| {
            format!(
                "estimates: this CPU ({cpu}) is of another family than the calibrated one; {advice}"
            )
        }));
        let (machine, date) = self.estimator.machine();
        result.estimate = Some(Estimate {
            warm: RatedTime::new(best.warm, "few".to_owned(), "warm"),
            cold: RatedTime::new(best.cold, job.request.options.entries_text(), "cold"),
            loop_ns: slowest.loop_picoseconds as f64 / 1000.0,
            driver: timing.and_then(|timing| timing.driver.as_ref()).map(|driver| DriverTime {
                ns: driver.picoseconds as f64 / 1000.0,
                name: driver.driver.clone(),
                source: driver.source.clone(),
            }),
            machine,
            date,
            doubt,
            foreign_cpu,
            candidates,
            stopped,
        });
        let unrolled = search.unrolled();
        result.profile = Some(self.profile(unrolled, context, &found[0].arcs, slowest)?);
        let shown = detailed_path_count(&job.request.options);
        detail.paths.clear();
        for candidate in found.iter_mut().take(shown) {
            let mut described = report::detail(lifted, unrolled, &candidate.arcs);
            if wants_code_of_paths(&job.request.options) {
                described.branches = std::mem::take(&mut candidate.branches);
                let estimated = &estimated[candidate.estimated];
                described.profile =
                    Some(self.profile(unrolled, context, &candidate.arcs, estimated)?);
            }
            detail.paths.push(described);
        }
        result.paths = found.into_iter().map(|candidate| candidate.path).collect();
        Ok(())
    }

    /// Divides the counts and the estimated times of a path among its instructions and source
    /// lines.
    fn profile(
        &self,
        unrolled: &Unrolled,
        context: &SearchContext<'_>,
        arcs: &[ArcId],
        estimated: &Estimated,
    ) -> Result<Profile, Error> {
        let &SearchContext { lifted, model, measure } = context;
        let cost = path_cost(unrolled, model, arcs);
        let mut profile = measure.profile(lifted, unrolled, model, arcs, &cost)?;
        estimated.add_to(&mut profile, lifted, &self.estimator);
        Ok(profile)
    }

    /// Finds the slowest paths by the sum of the times of their parts. Continues the work of
    /// `search`, a search of the same program, which has found the paths in `known`. Computes
    /// witnesses only for the `kept` paths with the largest estimates, because a witness takes
    /// longer to compute than an estimate. The slowest paths found so far always have a witness, so
    /// the search can stop at any time.
    fn candidates(
        &self,
        job: &Job<'_>,
        search: Search<BitSolver>,
        context: &SearchContext<'_>,
        (occupancy, kept): (Occupancy, usize),
        known: Vec<FoundPath>,
    ) -> Result<Candidates, Error> {
        let prices = self.estimator.prices(context.lifted, occupancy);
        let (timed, model) = self.target.with_counter("ps", prices);
        let mut search = search.repriced(&model, timed, Metric::Component(0), known);
        let all = job.request.options.paths.is_none();
        let requested = job.request.options.paths.unwrap_or(u64::MAX);
        let (mut estimated, mut slowest) = (Vec::<Estimated>::new(), Vec::<Candidate>::new());
        let (mut known, mut complete) = (Vec::new(), false);
        let stopped = loop {
            if estimated.len() as u64 >= requested.max(CANDIDATES as u64) {
                break None;
            }
            if let Some(reason) = job.reason_to_stop() {
                break Some(reason);
            }
            job.control.stop.enter(stages::ESTIMATING);
            match search.step() {
                Err(SearchError::Stopped(reason)) => break Some(job.stopped(reason)),
                // The guarantee does not depend on this search.
                Err(error) => break Some(error.to_string()),
                Ok(Found::Working | Found::Bound(_) | Found::EarlyPath(_)) => {}
                Ok(Found::Complete) => {
                    complete = true;
                    break None;
                }
                Ok(Found::GaveUp(reason)) => {
                    break Some(format!("the solver gave up on a path ({reason})"));
                }
                Ok(Found::Path(mut found)) => {
                    let (lifted, arcs) = (context.lifted, &found.path);
                    let own = self.estimator.estimated(lifted, search.unrolled(), arcs);
                    let least = slowest.last().filter(|_| slowest.len() >= kept);
                    let is_kept = kept > 0
                        && least.is_none_or(|least| {
                            estimated[least.estimated].cold_picoseconds < own.cold_picoseconds
                        });
                    if known.len() < CANDIDATES {
                        known.push(FoundPath::clone(&found));
                    }
                    if is_kept {
                        let described = describe(&mut search, job, (context, &model), &mut found);
                        let (result, branches) = match described {
                            Err(error) => break Some(job.ended_by(error)?),
                            Ok(described) => described,
                        };
                        let path = PathResult { estimate: Some(own.estimate.clone()), ..result };
                        let (arcs, number) = (found.path, estimated.len());
                        slowest.push(Candidate { path, arcs, branches, estimated: number });
                    }
                    estimated.push(own);
                    if slowest.len() >= kept {
                        sort(&mut slowest, &estimated);
                        slowest.truncate(kept);
                    }
                    if all {
                        search.enumerate_all();
                    }
                }
            }
        };
        sort(&mut slowest, &estimated);
        Ok(Candidates { estimated, slowest, search, known, stopped, complete })
    }
}

/// Sorts paths by their estimates in cold caches, slowest first. Of equal estimates, the path that
/// was found first comes first.
fn sort(paths: &mut [Candidate], estimated: &[Estimated]) {
    paths.sort_by_key(|path| std::cmp::Reverse(estimated[path.estimated].cold_picoseconds));
}

/// Replays a path that the search has found, and describes it, with its branches if they were
/// requested. `model` has the prices that the search used.
fn describe(
    search: &mut Search<BitSolver>,
    job: &Job<'_>,
    (context, model): (&SearchContext<'_>, &CostModel),
    found: &mut FoundPath,
) -> Result<(PathResult, Vec<PathBranch>), Error> {
    let (witness, relies_on) = replayed_witness(search, context.lifted, model, found)?;
    let branches = requested_branches(search, &job.request.options, found)?;
    let unrolled = search.unrolled();
    found.cost = path_cost(unrolled, context.model, &found.path);
    let path = context.measure.path(context.lifted, unrolled, found, witness);
    Ok((PathResult { relies_on, ..path }, branches))
}

/// Formats the note that says why there is no estimate. `stopped` is the reason why the search for
/// paths ended.
pub(crate) fn no_estimate(stopped: &str) -> String {
    format!("estimates: none, because the search ended before the first estimate: {stopped}")
}

/// Returns the cost of a path by a cost model that counts events, such as the number of executed
/// instructions.
fn path_cost(unrolled: &Unrolled, model: &CostModel, path: &[ArcId]) -> CostVector {
    let mut cost = model.overhead();
    let mut context = model.start();
    for event in report::events(unrolled, path) {
        context = model.step(context, event.class.0, &mut cost);
    }
    cost
}

/// Prepares the ranking of paths by estimated time. Returns `None` if the target has no times, or
/// if the program is not executed by a CPU.
///
/// # Errors
/// If the options do not fit the target.
pub(crate) fn estimation<'a>(
    target: &'a Target,
    lifted: &'a Lifted,
    options: &'a Options,
) -> Result<Option<Estimation<'a>>, Error> {
    let cold = options.entries(target)?;
    let model = match (&target.timing, &lifted.code, &target.interpreter, &lifted.pipeline) {
        (Some(timing), Some(code), ..) => TimeModel::Core { timing, code },
        (.., Some(prices), Some(pipeline)) => {
            TimeModel::Interpreter { prices, layout: &pipeline.layout }
        }
        _ => return Ok(None),
    };
    let foreign_cpu = options.foreign_cpu.as_deref();
    let estimator = Estimator { model, cold, foreign_cpu };
    Ok(Some(Estimation { target, estimator }))
}
