//! Finds the slowest paths of a program by their estimated times.
//!
//! The analysis needs two searches. The first search finds the guarantee, which is about counts
//! such as instructions. The second search finds the paths with the largest sums of instruction
//! times. The model of the CPU core then estimates the time of each path, which is not a sum. The
//! paths are ranked by this estimate. Paths that rank behind the first [`CANDIDATES`] by the sum
//! are not estimated.

use crate::frontend::Lifted;
use crate::job::{Job, SearchContext, detailed_path_count, replayed_witness};
use crate::report::{self, Estimated, Estimator};
use crate::result::{Detail, Estimate, PathResult, ProgramResult};
use crate::{Error, stages};
use slowpath_estimate::picoseconds;
use slowpath_exec::ArcId;
use slowpath_search::{Event as Found, Metric, Search, SearchError, Unrolled};
use slowpath_smt::BitSolver;
use slowpath_target::{CostModel, CostVector, Target};
use std::collections::BTreeSet;

/// Minimum number of paths that are estimated, if the program has so many.
const CANDIDATES: u64 = 50;

/// A path of the program, with its estimated time.
struct Candidate {
    path: PathResult,
    arcs: Vec<ArcId>,
    estimated: Estimated,
}

/// The target and the model of times with which paths of a program are ranked by estimated time.
pub(crate) struct Estimation<'a> {
    pub target: &'a Target,
    pub estimator: Estimator<'a>,
    /// Minimum and maximum length of packets, in bytes.
    pub packets: (u32, u32),
}

impl Estimation<'_> {
    /// Replaces the slowest paths in the result. Before, paths are ranked by counts, such as
    /// numbers of instructions; afterwards, by estimated time.
    ///
    /// # Errors
    /// If a path cannot be replayed, which is a defect.
    pub fn rank(
        &self,
        job: &Job<'_>,
        unrolled: Unrolled,
        context: &SearchContext<'_>,
        (result, detail): (&mut ProgramResult, &mut Detail),
    ) -> Result<(), Error> {
        let lifted = context.lifted;
        let classes = &lifted.program.cost_classes;
        let Estimator { timing, entries, .. } = self.estimator;
        let price = |class: &String| picoseconds(class, timing, entries);
        let (timed, model) = self.target.with_counter("ps", classes.iter().map(price));
        let solver = BitSolver::new();
        let metric = Metric::Component(0);
        let mut search = Search::new(unrolled, &model, timed, metric, self.packets, solver);
        let all = job.request.options.paths.is_none();
        let requested = job.request.options.paths.unwrap_or(u64::MAX);
        let mut found = Vec::new();
        let stopped = loop {
            if found.len() as u64 >= requested.max(CANDIDATES) {
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
                Ok(Found::Complete) => break None,
                Ok(Found::GaveUp(reason)) => {
                    break Some(format!("the solver gave up on a path ({reason})"));
                }
                Ok(Found::Path(mut path)) => {
                    match self.candidate(&mut search, context, &model, &mut path) {
                        Err(error) => break Some(job.ended_by(error)?),
                        Ok(candidate) => found.push(candidate),
                    }
                    if all {
                        search.enumerate_all();
                    }
                }
            }
        };
        if found.is_empty() {
            result.notes.push(no_estimate(&stopped.unwrap_or_default()));
            return Ok(());
        }
        found.sort_by_key(|candidate| std::cmp::Reverse(candidate.estimated.picoseconds));
        let candidates = found.len() as u64;
        // Includes the assumptions about all candidates: another path may only be faster because of
        // them.
        let assumptions: BTreeSet<String> =
            found.iter().flat_map(|path| path.estimated.assumptions(&self.estimator)).collect();
        result.notes.extend(assumptions);
        let calibration = timing.calibration.as_ref();
        let doubt = calibration.and_then(|known| known.doubt.clone());
        result
            .notes
            .extend(doubt.iter().map(|doubt| format!("estimates: doubtful calibration: {doubt}")));
        let kept = usize::try_from(requested).unwrap_or(usize::MAX).max(1);
        found.truncate(kept);
        let slowest = &found[0];
        result.estimate = Some(Estimate {
            path: slowest.estimated.estimate.clone(),
            machine: timing.machine.clone(),
            date: timing.date.clone(),
            doubt,
            entries: entries.max(1),
            candidates,
            stopped,
        });
        let unrolled = search.unrolled();
        let cost = path_cost(unrolled, context.model, &slowest.arcs);
        let (measure, model) = (context.measure, context.model);
        let mut profile = measure.profile(lifted, unrolled, model, &slowest.arcs, &cost)?;
        slowest.estimated.add_to(&mut profile, lifted, timing);
        result.profile = Some(profile);
        let shown = detailed_path_count(&job.request.options);
        let arcs = found.iter().take(shown).map(|candidate| &candidate.arcs);
        detail.paths = arcs.map(|arcs| report::detail(lifted, unrolled, arcs)).collect();
        result.paths = found.into_iter().map(|candidate| candidate.path).collect();
        Ok(())
    }

    fn candidate(
        &self,
        search: &mut Search<BitSolver>,
        context: &SearchContext<'_>,
        model: &CostModel,
        found: &mut slowpath_search::FoundPath,
    ) -> Result<Candidate, Error> {
        let (witness, relies_on) = replayed_witness(search, context.lifted, model, found)?;
        let unrolled = search.unrolled();
        let arcs = found.path.clone();
        let estimated = Estimated::new(context.lifted, unrolled, &self.estimator, &arcs);
        found.cost = path_cost(unrolled, context.model, &arcs);
        let mut path = context.measure.path(context.lifted, unrolled, found, witness);
        path.relies_on = relies_on;
        path.estimate = Some(estimated.estimate.clone());
        Ok(Candidate { path, arcs, estimated })
    }
}

/// Formats the note that says why there is no estimate. `stopped` is the reason why the search for
/// paths ended.
pub(crate) fn no_estimate(stopped: &str) -> String {
    format!("estimates: there is none; no path was estimated before the search ended: {stopped}")
}

/// Returns the cost of a path on a target that counts events, such as the number of executed
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
pub(crate) fn estimation<'a>(
    target: &'a Target,
    lifted: &'a Lifted,
    packets: (u32, u32),
    entries: Option<u64>,
) -> Option<Estimation<'a>> {
    let (timing, code) = (target.timing.as_ref()?, lifted.code.as_ref()?);
    let estimator = Estimator { timing, code, entries: entries.unwrap_or(0) };
    Some(Estimation { target, estimator, packets })
}
