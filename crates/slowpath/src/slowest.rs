//! The slowest paths of a program by what they are estimated to take.
//!
//! Two searches, because they answer two questions. The guarantee is about counts and comes first.
//! Then paths are found by a sum of times, which a search can do exactly; each of them is estimated
//! by the model of the core, which no sum is, and what that finds slowest comes first. Paths that
//! the sum has further down than that many are not looked at.

use crate::frontend::Lifted;
use crate::job::{Job, Setting, described, shown};
use crate::report::{self, Estimated, Estimator};
use crate::result::{Detail, Estimate, PathResult, ProgramResult};
use crate::{Error, stages};
use slowpath_estimate::picoseconds;
use slowpath_exec::ArcId;
use slowpath_search::{Event as Found, Metric, Search, SearchError, Unrolled};
use slowpath_smt::BitSolver;
use slowpath_target::{CostModel, Target};
use std::collections::BTreeSet;

/// How many paths are estimated at least, where there are as many.
const CANDIDATES: u64 = 50;

/// A path that was found and estimated.
struct Candidate {
    path: PathResult,
    arcs: Vec<ArcId>,
    estimated: Estimated,
}

/// What estimates are made with.
pub(crate) struct Estimating<'a> {
    pub target: &'a Target,
    pub with: Estimator<'a>,
    /// Least and greatest length of a packet in bytes.
    pub packets: (u32, u32),
}

impl Estimating<'_> {
    /// Puts the slowest paths by their estimates into the result, in place of those by counts.
    ///
    /// # Errors
    /// When a path cannot be replayed, which is a defect.
    pub fn rank(
        &self,
        job: &Job<'_>,
        unrolled: Unrolled,
        setting: &Setting<'_>,
        (result, detail): (&mut ProgramResult, &mut Detail),
    ) -> Result<(), Error> {
        let lifted = setting.lifted;
        let classes = &lifted.program.cost_classes;
        let price = |class: &String| picoseconds(class, self.with.timing, self.with.entries);
        let (timed, model) = self.target.with_counter("ps", classes.iter().map(price));
        let solver = BitSolver::new();
        let metric = Metric::Component(0);
        let mut search = Search::new(unrolled, &model, timed, metric, self.packets, solver);
        let all = job.request.options.paths.is_none();
        let wanted = job.request.options.paths.unwrap_or(u64::MAX);
        let mut found = Vec::new();
        let stopped = loop {
            if found.len() as u64 >= wanted.max(CANDIDATES) {
                break None;
            }
            if let Some(why) = job.reason_to_stop() {
                break Some(why);
            }
            job.control.stop.enter(stages::ESTIMATING);
            match search.step() {
                Err(SearchError::Stopped(reason)) => break Some(job.stopped(reason)),
                // What is guaranteed does not depend on it.
                Err(error) => break Some(error.to_string()),
                Ok(Found::Working | Found::Bound(_) | Found::Reached(_)) => {}
                Ok(Found::Complete) => break None,
                Ok(Found::GaveUp(why)) => {
                    break Some(format!("the solver gave up on a path ({why})"));
                }
                Ok(Found::Path(mut path)) => {
                    match self.candidate(&mut search, setting, &model, &mut path) {
                        Err(error) => break Some(job.ended_by(error)?),
                        Ok(candidate) => found.push(candidate),
                    }
                    if all {
                        search.exhaust();
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
        // Of all: what is taken for granted of another path may be why it is not the slowest.
        let granted: BTreeSet<String> =
            found.iter().flat_map(|each| each.estimated.assumptions(&self.with)).collect();
        result.notes.extend(granted);
        let calibration = self.with.timing.calibration.as_ref();
        let doubt = calibration.and_then(|known| known.doubt.clone());
        result
            .notes
            .extend(doubt.iter().map(|why| format!("estimates: doubtful calibration: {why}")));
        let kept = usize::try_from(wanted).unwrap_or(usize::MAX).max(1);
        found.truncate(kept);
        let slowest = &found[0];
        result.estimate = Some(Estimate {
            path: slowest.estimated.estimate.clone(),
            machine: self.with.timing.machine.clone(),
            date: self.with.timing.date.clone(),
            doubt,
            entries: self.with.entries.max(1),
            candidates,
            stopped,
        });
        let unrolled = search.unrolled();
        let cost = counted(unrolled, setting.model, &slowest.arcs);
        let (measure, model) = (setting.measure, setting.model);
        let mut profile = measure.profile(lifted, unrolled, model, &slowest.arcs, &cost)?;
        slowest.estimated.add_to(&mut profile, lifted, self.with.timing);
        result.profile = Some(profile);
        let shown = described(&job.request.options);
        let arcs = found.iter().take(shown).map(|candidate| &candidate.arcs);
        detail.paths = arcs.map(|arcs| report::detail(lifted, unrolled, arcs)).collect();
        result.paths = found.into_iter().map(|candidate| candidate.path).collect();
        Ok(())
    }

    fn candidate(
        &self,
        search: &mut Search<BitSolver>,
        setting: &Setting<'_>,
        model: &CostModel,
        found: &mut slowpath_search::FoundPath,
    ) -> Result<Candidate, Error> {
        let (witness, relies_on) = shown(search, setting.lifted, model, found)?;
        let unrolled = search.unrolled();
        let arcs = found.path.clone();
        let estimated = Estimated::new(setting.lifted, unrolled, &self.with, &arcs);
        found.cost = counted(unrolled, setting.model, &arcs);
        let mut path = setting.measure.path(setting.lifted, unrolled, found, witness);
        path.relies_on = relies_on;
        path.estimate = Some(estimated.estimate.clone());
        Ok(Candidate { path, arcs, estimated })
    }
}

/// Says that there is no estimate, and why the search for paths ended.
pub(crate) fn no_estimate(stopped: &str) -> String {
    format!("estimates: there is none; no path was estimated before the search ended: {stopped}")
}

/// What a path counts.
fn counted(unrolled: &Unrolled, model: &CostModel, path: &[ArcId]) -> slowpath_target::CostVector {
    let mut cost = model.overhead();
    let mut context = model.start();
    for event in report::events(unrolled, path) {
        context = model.step(context, event.class.0, &mut cost);
    }
    cost
}

/// Whether estimates can be made of a lifted program, and with what.
pub(crate) fn estimating<'a>(
    target: &'a Target,
    lifted: &'a Lifted,
    packets: (u32, u32),
    entries: Option<u64>,
) -> Option<Estimating<'a>> {
    let (timing, code) = (target.timing.as_ref()?, lifted.code.as_ref()?);
    let with = Estimator { timing, code, entries: entries.unwrap_or(0) };
    Some(Estimating { target, with, packets })
}
