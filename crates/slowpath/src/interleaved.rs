//! Finds the guarantee for the case that other CPUs write to shared maps during a run, with any
//! values and at any time.
//!
//! A run that accesses no shared memory twice behaves the same with and without other CPUs. All
//! other programs are lifted a second time; in this version, every access to memory that the run
//! has accessed before yields an arbitrary value. If the slowest path of this version is not slower
//! than the guarantee, the guarantee holds for any number of CPUs. On a SmartNIC, and if helpers
//! read a large part of a value again, every load of shared memory yields an arbitrary value: the
//! run may have read the same memory before.
//!
//! If time runs out before the search, or the program cannot be unrolled, the structural bound
//! applies: [`crate::structural`] does not depend on the content of memory.

use crate::Error;
use crate::frontend::{self, Lifted};
use crate::job::{Job, SearchContext, replayed_witness};
use crate::loops;
use crate::result::{Bound, ProgramResult, Verdict};
use crate::stages;
use crate::structural::StructuralBound;
use slowpath_bpf::lift::Receive;
use slowpath_exec::Start;
use slowpath_search::{Event, Search, SearchError, UnrollLimits, unroll_from};
use slowpath_smt::BitSolver;
use slowpath_stop::{Limits, Stop};
use slowpath_target::{InstructionSet, Target};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// Returns the condition that no other CPU, or core of a SmartNIC, changes the shared maps. Returns
/// `None` if no run accesses a shared map twice, so that the condition is not needed.
pub(crate) fn exclusive_access_condition(lifted: &Lifted, target: &Target) -> Option<String> {
    let maps: Vec<&str> = lifted.interference.maps.iter().map(String::as_str).collect();
    let (last, others) = maps.split_last()?;
    let named = match others {
        [] => (*last).to_owned(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let other = match target.instruction_set {
        InstructionSet::Bpf => "CPU",
        InstructionSet::Nfp => "core",
        InstructionSet::Swx => "packet",
    };
    Some(format!("no other {other} changes {named} meanwhile"))
}

/// Removes a condition from the assumptions of a result, after it was found that the guarantee also
/// holds without this condition.
fn remove_condition(condition: &str, result: &mut ProgramResult) {
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

/// Time that may be used after the deadline for two steps: lifting the program once more, and
/// deriving iteration counts of loops.
const GRACE: Duration = Duration::from_millis(100);

/// Reason that a result states if its slowest path depends on writes of other CPUs: it has a bound,
/// but no witness packet.
const NOT_REPLAYED: &str = "no interpreter replays its path";

/// The device for which a program is analysed, and the way in which packets arrive there.
#[derive(Clone, Copy)]
pub(crate) struct Device<'a> {
    pub target: &'a Target,
    pub receive: Receive,
}

/// A program in the version for the analysis in which other CPUs can write to shared maps at any
/// time.
struct InterleavedProgram {
    /// The program lifted with writes of other CPUs. `None` on a SmartNIC: its program is analysed
    /// in the version without these writes, but all loads of shared memory yield arbitrary values.
    lifted: Option<Lifted>,
    limits: UnrollLimits,
    /// True if each load of shared memory yields an arbitrary value.
    volatile: bool,
    /// Restrictions on the writes of other CPUs under which results hold, one sentence each.
    conditions: Vec<String>,
}

impl InterleavedProgram {
    /// Returns true if the interpreter can replay a run in which other CPUs write.
    fn is_replayed(&self) -> bool {
        !self.volatile && self.conditions.is_empty()
    }
}

/// Result of searching the slowest run with writes of other CPUs, and the conditions of the result.
enum Found {
    /// No run is slower than the guarantee, under the listed conditions.
    NotSlower(Vec<String>),
    /// Some run may be slower than the guarantee. The bound holds for all runs, under the listed
    /// conditions.
    Slower(Box<Bound>, Vec<String>),
    /// No bound was found. The text is the reason.
    Nothing(String),
}

impl Found {
    /// Stores the outcome of the search for runs with writes of other CPUs in the result of the
    /// program. `condition` is the assumption that no other CPU changes the maps; this function
    /// removes it if the guarantee holds without it.
    fn note(self, condition: &str, result: &mut ProgramResult) {
        match self {
            Found::NotSlower(conditions) => {
                result.assumptions.extend(conditions);
                remove_condition(condition, result);
            }
            Found::Slower(bound, conditions) => {
                result.assumptions.extend(conditions);
                result.interleaved = Some(*bound);
            }
            Found::Nothing(_) => {}
        }
    }
}

impl Job<'_> {
    /// Finds the guarantee for any number of CPUs. If it is the same as for a single CPU, removes
    /// the condition that no other CPU changes the maps. If the analysis fails, the condition
    /// stays.
    ///
    /// # Errors
    /// If the interpreter does not take a found path, which is an internal error.
    pub fn interleave(
        &self,
        context: &SearchContext<'_>,
        device: Device<'_>,
        structural: Option<&StructuralBound>,
        result: &mut ProgramResult,
    ) -> Result<(), Error> {
        let Some(condition) = exclusive_access_condition(context.lifted, device.target) else {
            return Ok(());
        };
        let Some(guarantee) = result.guarantee.clone() else { return Ok(()) };
        let measure = context.measure;
        if let Some(structural) = structural
            && guarantee.verdict != Verdict::Bound
            && structural.conditions.is_empty()
            && context.lifted.interference.walks.is_empty()
            && !measure.is_tighter(&guarantee, &measure.any_packet(&structural.cost))
        {
            // The structural bound holds for all values read, and it is not slower.
            remove_condition(&condition, result);
            return Ok(());
        }
        if let Some(reason) = self.reason_to_stop() {
            self.interleave_structurally(context, device, reason, result);
            return Ok(());
        }
        // If the program cannot be analysed, the condition stays.
        let program = self.lift_with_interference(context, device, &self.control.stop);
        let Some(program) = program else { return Ok(()) };
        let found = match self.search_interleaved(context, device, &program, &guarantee, result)? {
            Found::Nothing(reason) => {
                self.interleaved_structural_bound(context, device, &program, reason, result)
            }
            found => found,
        };
        found.note(&condition, result);
        Ok(())
    }

    /// Finds the guarantee for any number of CPUs if there is no time for a search. The guarantee
    /// is the cost of the most expensive path through the control flow, whether satisfiable or not.
    /// `stopped` is the reason why no search runs.
    pub fn interleave_structurally(
        &self,
        context: &SearchContext<'_>,
        device: Device<'_>,
        stopped: String,
        result: &mut ProgramResult,
    ) {
        let Some(condition) = exclusive_access_condition(context.lifted, device.target) else {
            return;
        };
        let stop = Stop::new(Limits { time: Some(GRACE), ..Limits::default() });
        if let Some(program) = self.lift_with_interference(context, device, &stop) {
            self.interleaved_structural_bound(context, device, &program, stopped, result)
                .note(&condition, result);
        }
        self.control.note_end(&stop);
    }

    /// Searches for the slowest run for the case that other CPUs write to shared maps.
    fn search_interleaved(
        &self,
        context: &SearchContext<'_>,
        Device { target, receive }: Device<'_>,
        program: &InterleavedProgram,
        guarantee: &Bound,
        result: &ProgramResult,
    ) -> Result<Found, Error> {
        let measure = context.measure;
        let stop = &self.control.stop;
        let lifted = program.lifted.as_ref().unwrap_or(context.lifted);
        stop.enter(stages::UNROLLING);
        let start = Start { volatile: program.volatile, ..Start::default() };
        let unrolled = unroll_from(Rc::new(lifted.program.clone()), &program.limits, &start, stop);
        let unrolled = match unrolled {
            Ok(unrolled) => unrolled,
            Err(SearchError::Stopped(reason)) => return Ok(Found::Nothing(self.stopped(reason))),
            Err(error) => return Ok(Found::Nothing(error.to_string())),
        };
        let model = match target.cost_model(&lifted.program.cost_classes) {
            Ok(model) => model,
            Err(error) => return Ok(Found::Nothing(error.to_string())),
        };
        stop.enter(stages::SEARCHING);
        let known: BTreeSet<String> = result.assumptions.iter().cloned().collect();
        let limits =
            unrolled.assumptions.iter().map(|sentence| loops::with_lines(lifted, sentence));
        let conditions = limits.chain(program.conditions.iter().cloned());
        let conditions: Vec<String> =
            conditions.filter(|sentence| !known.contains(sentence)).collect();
        let lengths = (receive.length.0.into(), receive.length.1.into());
        let solver = BitSolver::new();
        let mut search =
            Search::new(unrolled, &model, target.clone(), measure.metric, lengths, solver);
        let mut best: Option<Bound> = None;
        let stopped = loop {
            if let Some(reason) = self.reason_to_stop() {
                break Some(reason);
            }
            match search.step() {
                Err(SearchError::Stopped(reason)) => break Some(self.stopped(reason)),
                Err(_) | Ok(Event::Complete) => break None,
                Ok(Event::GaveUp(reason)) => {
                    break Some(format!("the solver gave up on a path ({reason})"));
                }
                // An early path may not be the slowest, so it does not bound the other paths.
                Ok(Event::Working | Event::EarlyPath(_)) => {}
                Ok(Event::Bound(bound)) => {
                    let bound = measure.found_bound(search.unrolled(), &bound);
                    if !is_slower(context, &bound, guarantee) {
                        return Ok(Found::NotSlower(conditions));
                    }
                    best = Some(bound);
                }
                Ok(Event::Path(mut found)) => {
                    let exact = measure.bound(&found.cost, found.length);
                    if !is_slower(context, &exact, guarantee) {
                        return Ok(Found::NotSlower(conditions));
                    }
                    if !program.is_replayed() {
                        best = Some(exact.into_bound());
                        break Some(NOT_REPLAYED.to_owned());
                    }
                    let (_, relies_on) = replayed_witness(&mut search, lifted, &model, &mut found)?;
                    let count = result.assumptions.len() + conditions.len() + relies_on.len();
                    // One of the assumptions is the condition that no other CPU interferes.
                    best = Some(exact.found(count > 1));
                    break None;
                }
            }
        };
        let early = || "the search ended early".to_owned();
        let Some(mut bound) = best else {
            return Ok(Found::Nothing(stopped.unwrap_or_else(early)));
        };
        bound.stopped = stopped;
        if bound.verdict == Verdict::Bound {
            bound.stopped.get_or_insert_with(early);
        }
        Ok(Found::Slower(Box::new(bound), conditions))
    }

    /// Lifts the program to a version in which other CPUs can write to shared maps at any time.
    /// Returns `None` if it cannot be lifted.
    fn lift_with_interference(
        &self,
        context: &SearchContext<'_>,
        device: Device<'_>,
        stop: &Stop,
    ) -> Option<InterleavedProgram> {
        let unroll_limits = &self.request.options.unroll;
        match device.target.instruction_set {
            InstructionSet::Bpf => {
                let object = self.request.object.bpf().ok()?;
                let receive = device.receive;
                let lifted =
                    frontend::lift_interleaved(self.request, object, receive, true, stop).ok()?;
                let (limits, _) = loops::limits(unroll_limits, &lifted).ok()?;
                let interference = &lifted.interference;
                let volatile = !interference.read_by_calls.is_empty();
                let conditions = interference.walks.iter().map(|(map, most)| {
                    format!(
                        "bpf_for_each_map_elem calls back at most {most} times for {map}, whatever \
                         other CPUs insert meanwhile"
                    )
                });
                let conditions = conditions.collect();
                Some(InterleavedProgram { lifted: Some(lifted), limits, volatile, conditions })
            }
            InstructionSet::Nfp | InstructionSet::Swx => {
                let (limits, _) = loops::limits(unroll_limits, context.lifted).ok()?;
                Some(InterleavedProgram {
                    lifted: None,
                    limits,
                    volatile: true,
                    conditions: Vec::new(),
                })
            }
        }
    }

    /// Returns a bound that holds for any values that a run may read from shared maps. It needs no
    /// search: only the iteration counts of loops and the costs of basic blocks.
    fn interleaved_structural_bound(
        &self,
        context: &SearchContext<'_>,
        device: Device<'_>,
        program: &InterleavedProgram,
        stopped: String,
        result: &ProgramResult,
    ) -> Found {
        let lifted = program.lifted.as_ref().unwrap_or(context.lifted);
        let model = device.target.cost_model(&lifted.program.cost_classes);
        let (Ok(model), Some(guarantee)) = (model, &result.guarantee) else {
            return Found::Nothing(stopped);
        };
        let stop = Stop::new(Limits { time: Some(GRACE), ..Limits::default() });
        let found = StructuralBound::with_derived_counts(lifted, &program.limits, &model, &stop);
        self.control.note_end(&stop);
        let Some(found) = found else { return Found::Nothing(stopped) };
        let conditions = found.conditions.iter().chain(&program.conditions);
        let conditions = conditions.filter(|sentence| !result.assumptions.contains(sentence));
        let conditions = conditions.cloned().collect();
        let bound = context.measure.any_packet(&found.cost);
        match is_slower(context, &bound, guarantee) {
            true => Found::Slower(Box::new(Bound { stopped: Some(stopped), ..bound }), conditions),
            false => Found::NotSlower(conditions),
        }
    }
}

fn is_slower(context: &SearchContext<'_>, bound: &Bound, guarantee: &Bound) -> bool {
    context.measure.is_tighter(guarantee, bound)
}
