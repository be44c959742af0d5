//! Other CPUs: the guarantee whatever they write to shared maps while a run is under way.
//!
//! A run that accesses no shared memory twice cannot tell whether it is alone. For others the
//! program is lifted once more, such that every later access finds anything, and the slowest path is
//! searched among those. Where none is slower, the guarantee holds for any number of CPUs.

use crate::Error;
use crate::frontend::{self, Lifted};
use crate::job::{Job, Setting, shown};
use crate::loops;
use crate::result::{Bound, ProgramResult, Verdict};
use crate::stages;
use slowpath_bpf::lift::Receive;
use slowpath_search::{Event as Found, Search, SearchError, unroll};
use slowpath_smt::BitSolver;
use slowpath_target::{Target, TargetKind};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The condition that no other CPU changes these maps; `None` if a run accesses nothing twice.
pub(crate) fn alone(lifted: &Lifted) -> Option<String> {
    let maps: Vec<&str> = lifted.interference.maps.iter().map(String::as_str).collect();
    let (last, others) = maps.split_last()?;
    let named = match others {
        [] => (*last).to_owned(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("no other CPU changes {named} meanwhile"))
}

/// Takes a condition back that makes no difference.
fn take_back(condition: &str, result: &mut ProgramResult) {
    result.assumptions.retain(|sentence| sentence != condition);
    if let Some(found) = result.guarantee.take() {
        let stopped = found.stopped.clone();
        let found = match found.verdict {
            Verdict::Bound => found,
            _ => found.found(!result.assumptions.is_empty()),
        };
        result.guarantee = Some(Bound { stopped, ..found });
    }
}

impl Job<'_> {
    /// Finds the guarantee for any number of CPUs, or takes the condition back that there is one.
    ///
    /// # Errors
    /// A found path that the interpreter does not take is an internal error. Everything else leaves
    /// the condition as it is.
    pub fn interleave(
        &self,
        setting: &Setting<'_>,
        target: &Target,
        receive: Receive,
        result: &mut ProgramResult,
    ) -> Result<(), Error> {
        let Some(condition) = alone(setting.lifted) else { return Ok(()) };
        let followed = setting.lifted.interference.not_followed.is_empty();
        let Some(guarantee) = result.guarantee.clone().filter(|_| followed) else { return Ok(()) };
        if guarantee.verdict == Verdict::Bound || self.reason_to_stop().is_some() {
            return Ok(());
        }
        let stop = &self.control.stop;
        stop.enter(stages::LIFTING);
        let object = self.request.object.bpf()?;
        // What cannot be analysed leaves the condition.
        let Ok(lifted) = frontend::lift_beside(self.request, object, receive, true, stop) else {
            return Ok(());
        };
        let Ok((limits, _)) = loops::limits(&self.request.options.unroll, &lifted) else {
            return Ok(());
        };
        let Ok(model) = target.cost_model(&lifted.program.cost_classes) else { return Ok(()) };
        stop.enter(stages::UNROLLING);
        let Ok(unrolled) = unroll(Rc::new(lifted.program.clone()), &limits, stop) else {
            return Ok(());
        };
        stop.enter(stages::SEARCHING);
        let known: BTreeSet<String> = result.assumptions.iter().cloned().collect();
        let more = unrolled.assumptions.iter().map(|sentence| loops::with_lines(&lifted, sentence));
        let more: Vec<String> = more.filter(|sentence| !known.contains(sentence)).collect();
        let measure = setting.measure;
        let lengths = (receive.length.0.into(), receive.length.1.into());
        let solver = BitSolver::new();
        let mut search =
            Search::new(unrolled, &model, target.clone(), measure.metric, lengths, solver);
        let slower = |bound: &Bound| match target.kind {
            TargetKind::Counts => measure.value(bound) > measure.value(&guarantee),
            TargetKind::Rates => measure.value(bound) < measure.value(&guarantee),
        };
        let mut best = None;
        let stopped = loop {
            if let Some(why) = self.reason_to_stop() {
                break Some(why);
            }
            match search.step() {
                Err(SearchError::Stopped(reason)) => break Some(self.stopped(reason)),
                Err(_) | Ok(Found::Complete) => break None,
                Ok(Found::GaveUp(why)) => {
                    break Some(format!("the solver gave up on a path ({why})"));
                }
                // A path that is not the slowest does not bound others.
                Ok(Found::Working | Found::Reached(_)) => {}
                Ok(Found::Bound(bound)) => {
                    let bound = measure.found_bound(search.unrolled(), &bound);
                    if !slower(&bound) {
                        take_back(&condition, result);
                        return Ok(());
                    }
                    best = Some(bound);
                }
                Ok(Found::Path(mut found)) => {
                    let (_, relies_on) = shown(&mut search, &lifted, &model, &mut found)?;
                    let exact = measure.bound(&found.cost, found.length);
                    if !slower(&exact) {
                        take_back(&condition, result);
                        return Ok(());
                    }
                    let conditions = result.assumptions.len() + more.len() + relies_on.len();
                    // One of them is the condition to be alone.
                    best = Some(exact.found(conditions > 1));
                    break None;
                }
            }
        };
        if let Some(mut bound) = best {
            bound.stopped = stopped;
            if bound.verdict == Verdict::Bound && bound.stopped.is_none() {
                bound.stopped = Some("the search ended early".to_owned());
            }
            result.interleaved = Some(bound);
        }
        Ok(())
    }
}
