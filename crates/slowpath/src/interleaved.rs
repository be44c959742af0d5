//! Other CPUs: the guarantee whatever they write to shared maps while a run is under way.
//!
//! A run that accesses no shared memory twice cannot tell whether it is alone. For others the
//! program is lifted once more, such that every later access finds anything, and the slowest path is
//! searched among those. Where none is slower, the guarantee holds for any number of CPUs. On a
//! SmartNIC every load of shared memory finds anything: an earlier one may have been of it, too.

use crate::Error;
use crate::frontend::{self, Lifted};
use crate::job::{Job, Setting, shown};
use crate::loops;
use crate::result::{Bound, ProgramResult, Verdict};
use crate::stages;
use crate::structural::StructuralBound;
use slowpath_bpf::lift::Receive;
use slowpath_exec::Start;
use slowpath_search::{Event as Found, Search, SearchError, Unrolled, unroll, unroll_from};
use slowpath_smt::BitSolver;
use slowpath_target::{InstructionSet, Target, TargetKind};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The condition that no other CPU, or core of a SmartNIC, changes these maps; `None` if a run
/// accesses nothing twice.
pub(crate) fn alone(lifted: &Lifted, target: &Target) -> Option<String> {
    let maps: Vec<&str> = lifted.interference.maps.iter().map(String::as_str).collect();
    let (last, others) = maps.split_last()?;
    let named = match others {
        [] => (*last).to_owned(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let other = match target.instruction_set {
        InstructionSet::Bpf => "CPU",
        InstructionSet::Nfp => "core",
    };
    Some(format!("no other {other} changes {named} meanwhile"))
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
        structural: Option<&StructuralBound>,
        result: &mut ProgramResult,
    ) -> Result<(), Error> {
        let Some(condition) = alone(setting.lifted, target) else { return Ok(()) };
        let measure = setting.measure;
        if let (Some(structural), Some(guarantee)) = (structural, &result.guarantee)
            && guarantee.verdict != Verdict::Bound
            && structural.conditions.is_empty()
            && !measure.is_tighter(guarantee, &measure.any_packet(&structural.cost))
        {
            // No run is slower, whatever it reads.
            take_back(&condition, result);
            return Ok(());
        }
        let Some(guarantee) = result.guarantee.clone() else { return Ok(()) };
        if guarantee.verdict == Verdict::Bound || self.reason_to_stop().is_some() {
            return Ok(());
        }
        // What cannot be analysed leaves the condition.
        let Some((beside, unrolled)) = self.unroll_interleaved(setting, target, receive)? else {
            return Ok(());
        };
        let lifted = beside.as_ref().unwrap_or(setting.lifted);
        let Ok(model) = target.cost_model(&lifted.program.cost_classes) else { return Ok(()) };
        let stop = &self.control.stop;
        stop.enter(stages::SEARCHING);
        let known: BTreeSet<String> = result.assumptions.iter().cloned().collect();
        let more = unrolled.assumptions.iter().map(|sentence| loops::with_lines(lifted, sentence));
        let more: Vec<String> = more.filter(|sentence| !known.contains(sentence)).collect();
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
                // There is no interpreter of other cores' writes to show such a run with.
                Ok(Found::Path(found)) if target.instruction_set == InstructionSet::Nfp => {
                    if !slower(&measure.bound(&found.cost, found.length)) {
                        take_back(&condition, result);
                    }
                    return Ok(());
                }
                Ok(Found::Path(mut found)) => {
                    let (_, relies_on) = shown(&mut search, lifted, &model, &mut found)?;
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

    /// Unrolls the program such that others write to shared maps all the time, with the program
    /// where it had to be lifted once more. `None` where that cannot be done.
    fn unroll_interleaved(
        &self,
        setting: &Setting<'_>,
        target: &Target,
        receive: Receive,
    ) -> Result<Option<(Option<Lifted>, Unrolled)>, Error> {
        let stop = &self.control.stop;
        let unroll_limits = &self.request.options.unroll;
        match target.instruction_set {
            InstructionSet::Bpf => {
                if !setting.lifted.interference.not_followed.is_empty() {
                    return Ok(None);
                }
                stop.enter(stages::LIFTING);
                let object = self.request.object.bpf()?;
                let Ok(lifted) = frontend::lift_beside(self.request, object, receive, true, stop)
                else {
                    return Ok(None);
                };
                let Ok((limits, _)) = loops::limits(unroll_limits, &lifted) else {
                    return Ok(None);
                };
                stop.enter(stages::UNROLLING);
                let unrolled = unroll(Rc::new(lifted.program.clone()), &limits, stop);
                Ok(unrolled.ok().map(|unrolled| (Some(lifted), unrolled)))
            }
            InstructionSet::Nfp => {
                let Ok((limits, _)) = loops::limits(unroll_limits, setting.lifted) else {
                    return Ok(None);
                };
                stop.enter(stages::UNROLLING);
                let start = Start { volatile: true, ..Start::default() };
                let program = Rc::new(setting.lifted.program.clone());
                let unrolled = unroll_from(program, &limits, &start, stop);
                Ok(unrolled.ok().map(|unrolled| (None, unrolled)))
            }
        }
    }
}
