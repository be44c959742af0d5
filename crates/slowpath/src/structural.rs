//! Computes a bound on the cost of a program without unrolling its loops: the cost of the most
//! expensive iteration of each loop, times its number of iterations.
//!
//! Iteration counts come from counters and pointers ([`slowpath_ranges::iteration_bounds`]), from
//! limits of the kernel (`bpf_loop`, `may_goto`) and from `--unroll`. For all other loops, a
//! program that the kernel's verifier accepts still has a limit. The verifier executes a program
//! state by state and gives up after 1,000,000 instructions (`BPF_COMPLEXITY_LIMIT_INSNS`,
//! `kernel/bpf/verifier.c`).
//!
//! A run does not execute more instructions than the verifier, although the verifier prunes states.
//! The verifier prunes a state only if it has already followed another state that covers it to all
//! exits: `is_state_visited` compares with states that have no open `branches`. So each step of a
//! run leads to a state derived from the previous state, or to a state that the verifier finished
//! earlier. The time at which a state is finished never grows along a run, and falls at every step
//! that does not lead to a derived state. So no state occurs twice. The verifier compares with
//! unfinished states only around calls with callbacks, iterators and `may_goto`. Separately
//! verified functions, and programs that tail calls reach, have limits of their own.

use crate::frontend::{Lifted, VerifierLimitScope};
use crate::{loops, panics};
use slowpath_ir::{BlockId, Destination, FlowGraph, LoopId, Program, VisitLimit};
use slowpath_search::{
    SearchError, StatedLimit, UnrollLimits, Unrolled, instructions_bound, stated_limits,
    structural_bound, unroll,
};
use slowpath_stop::{Limits, Reason, Stop};
use slowpath_target::{CostModel, CostVector};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Maximum number of instructions that the kernel's verifier follows.
const VERIFIER_LIMIT: u64 = 1_000_000;

/// Time for which only unrolling runs. If unrolling takes longer, a second thread starts to derive
/// iteration counts of loops.
const COUNTING_DELAY: Duration = Duration::from_millis(50);

/// Maximum time for deriving iteration counts of loops after the deadline. This gives a bound to an
/// analysis that reaches its deadline early.
const GRACE: Duration = Duration::from_millis(300);

/// An upper bound on the cost of all runs, which is found without unrolling the program.
pub(crate) struct StructuralBound {
    pub cost: CostVector,
    /// Conditions under which the bound holds, one sentence each.
    pub conditions: Vec<String>,
    /// Conditions that limit a loop to fewer iterations than it can have without them, such as
    /// `--unroll` values. They are also among `conditions`.
    pub cuts: Vec<String>,
    /// One tuple for each loop: number of its first instruction, maximum number of iterations, and
    /// reason for this maximum.
    iterations: Vec<(u32, u64, Source)>,
}

/// The reason why a loop has at most a certain number of iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The analysis of a counter or a pointer showed when the loop ends.
    Value,
    /// The kernel limits the iterations. The text names the mechanism, such as `bpf_loop`.
    Device(String),
    /// The option `--unroll` limits the iterations.
    Stated,
    /// The instruction limit of the kernel's verifier limits the iterations.
    Verifier,
}

impl StructuralBound {
    /// Returns the bound of a lifted program. `derived` contains, for each loop, the maximum number
    /// of iterations that follows from values of registers, if it is known.
    ///
    /// Returns `None` if some loop has no known maximum, or no path leads out of the program.
    pub fn of(
        lifted: &Lifted,
        limits: &UnrollLimits,
        model: &CostModel,
        derived: &[Option<u64>],
    ) -> Option<StructuralBound> {
        let program = &lifted.program;
        let flow = FlowGraph::of(program).ok()?;
        let stated = stated_limits(program, &flow, limits).ok()?;
        let mut found = StructuralBound {
            cost: model.zero(),
            conditions: Vec::new(),
            cuts: Vec::new(),
            iterations: Vec::new(),
        };
        let mut iterations = Vec::with_capacity(flow.loops.len());
        for (id, stated) in stated.into_iter().enumerate() {
            let location = program.block(flow.loops[id].header).first.0;
            let known = derived.get(id).copied().flatten();
            let known = known.map(|iterations| (iterations, Source::Value));
            let (most, source) =
                found.max_iterations(lifted, &flow, LoopId::from(id), known, stated)?;
            iterations.push(most);
            found.iterations.push((location, most, source));
        }
        // Takes milliseconds, so it runs even after the deadline.
        found.cost =
            structural_bound(program, &flow, &iterations, model, &Stop::never()).ok()??;
        if lifted.verifier_limit_scope == VerifierLimitScope::Run
            && found.iterations.iter().any(|(.., by)| *by == Source::Verifier)
        {
            let whole = instructions_bound(program, model, VERIFIER_LIMIT, &Stop::never()).ok()?;
            found.cost = CostVector::min(&found.cost, &whole);
        }
        Some(found)
    }

    /// Returns the bound of a lifted program, like [`StructuralBound::of`]. First derives the
    /// maximum number of iterations of each loop from values of registers. Ends this derivation
    /// when `stop` holds.
    pub fn with_derived_counts(
        lifted: &Lifted,
        limits: &UnrollLimits,
        model: &CostModel,
        stop: &Stop,
    ) -> Option<StructuralBound> {
        let flow = FlowGraph::of(&lifted.program).ok()?;
        let derived = derive_counts(&lifted.program, &flow, stop).unwrap_or_default();
        StructuralBound::of(lifted, limits, model, &derived)
    }

    /// Returns the maximum number of iterations of a loop with the reason for it, and adds the
    /// conditions on which the maximum depends. Returns `None` if no maximum is known.
    fn max_iterations(
        &mut self,
        lifted: &Lifted,
        flow: &FlowGraph,
        id: LoopId,
        derived: Option<(u64, Source)>,
        stated: Option<StatedLimit>,
    ) -> Option<(u64, Source)> {
        let program = &lifted.program;
        let location = program.block(flow.loops[id.index()].header).first.0;
        let of_device = program
            .visit_limits
            .iter()
            .filter_map(|limit| Some((of_device(program, flow, id, limit)?, limit)))
            .min_by_key(|&(iterations, _)| iterations);
        let mut known = derived;
        if let Some((iterations, limit)) = of_device
            && known.as_ref().is_none_or(|&(derived, _)| iterations < derived)
        {
            known = Some((iterations, Source::Device(limit.by.clone())));
            limit.condition.iter().for_each(|sentence| self.depends_on(sentence.clone()));
        }
        if let Some(StatedLimit { count, explicit }) = stated
            && known.as_ref().is_none_or(|&(known, _)| explicit && u64::from(count) < known)
        {
            let sentence = format!("the loop at .{location} runs at most {count} times (--unroll)");
            let sentence = loops::with_lines(lifted, &sentence);
            if known.is_some() {
                self.cuts.push(sentence.clone());
            }
            self.depends_on(sentence);
            known = Some((count.into(), Source::Stated));
        }
        if known.is_none() && is_verified(lifted, flow, id) {
            let what = match lifted.verifier_limit_scope {
                VerifierLimitScope::Run => format!("a run to {VERIFIER_LIMIT} instructions"),
                VerifierLimitScope::Loops | VerifierLimitScope::Nothing => {
                    let name = loops::name(lifted, location);
                    format!("the loop at {name} to {VERIFIER_LIMIT} rounds")
                }
            };
            self.depends_on(format!(
                "the kernel's verifier accepts the program, which limits {what}"
            ));
            known = Some((VERIFIER_LIMIT, Source::Verifier));
        }
        known
    }

    fn depends_on(&mut self, sentence: String) {
        if !self.conditions.contains(&sentence) {
            self.conditions.push(sentence);
        }
    }

    /// Returns the reason why the program was not unrolled, in the wording of results. Returns
    /// `None` if `error` is about a loop to which this bound has no iteration count.
    pub fn stopped_by(&self, lifted: &Lifted, error: &SearchError) -> Option<String> {
        let location = match *error {
            SearchError::UnboundedLoop { location, .. }
            | SearchError::LoopTooLarge { location, .. } => location,
            _ => return Some(error.to_string()),
        };
        // A function that is called from several places has a copy of its loops for each.
        let copies = self.iterations.iter().filter(|(at, ..)| *at == location);
        let (_, iterations, source) = copies.max_by_key(|(_, iterations, _)| *iterations)?;
        let name = loops::name(lifted, location);
        let by = match source {
            Source::Verifier => {
                return Some(format!(
                    "the loop at {name} (.{location}) has no known limit except the verifier's; \
                     state one with --unroll N@{name}"
                ));
            }
            Source::Device(by) => format!(" ({by})"),
            Source::Value | Source::Stated => String::new(),
        };
        Some(format!(
            "the loop at {name} (.{location}) may run {iterations} times{by}, too often to unroll \
             it"
        ))
    }
}

/// Unrolls a program. If this takes long or fails, a second thread derives the maximum number of
/// iterations of each loop from values of registers. Returns two things: the unrolled program or an
/// error, and the derived numbers.
pub(crate) fn unroll_and_count(
    program: &Program,
    limits: &UnrollLimits,
    stop: &Stop,
) -> (Result<Unrolled, SearchError>, Vec<Option<u64>>) {
    let unrolled = || unroll(Rc::new(program.clone()), limits, stop);
    let Ok(flow) = FlowGraph::of(program) else { return (unrolled(), Vec::new()) };
    if flow.loops.is_empty() {
        return (unrolled(), Vec::new());
    }
    thread::scope(|scope| {
        let (begin, begun) = channel();
        let derivation_stop = Stop::new(Limits::default());
        let (stop, flow) = (derivation_stop.clone(), &flow);
        let (finished, done) = channel();
        let count = move || {
            let found = match begun.recv_timeout(COUNTING_DELAY) {
                Err(RecvTimeoutError::Disconnected) => None,
                Ok(()) | Err(RecvTimeoutError::Timeout) => derive_counts(program, flow, &stop).ok(),
            };
            finished.send(()).unwrap_or_default();
            found
        };
        let counter = thread::Builder::new().name(panics::WORKER.into()).spawn_scoped(scope, count);
        let unrolled = unrolled();
        match &unrolled {
            // Ends the derivation if it has begun. Otherwise, closing the channel ends the thread.
            Ok(_) => derivation_stop.request_stop(),
            Err(SearchError::Stopped(_)) => {
                begin.send(()).unwrap_or_default();
                let _ = done.recv_timeout(GRACE);
                derivation_stop.request_stop();
            }
            Err(_) => begin.send(()).unwrap_or_default(),
        }
        drop(begin);
        let found = counter.ok().and_then(|counter| counter.join().ok().flatten());
        (unrolled, found.unwrap_or_default())
    })
}

/// Derives the maximum number of iterations of each loop from values of registers. A number is
/// `None` if it cannot be derived.
fn derive_counts(
    program: &Program,
    flow: &FlowGraph,
    stop: &Stop,
) -> Result<Vec<Option<u64>>, Reason> {
    let options = slowpath_ranges::Options::default();
    let ranges = slowpath_ranges::analyze_until(program, &options, stop)?;
    slowpath_ranges::iteration_bounds(program, flow, &ranges, stop)
}

/// Returns the number of iterations that a loop can have because the kernel limits how often one of
/// its basic blocks runs. Returns `None` if an iteration can avoid this block, so that the limit
/// does not apply.
fn of_device(program: &Program, flow: &FlowGraph, id: LoopId, limit: &VisitLimit) -> Option<u64> {
    if !is_inside(flow, limit.block, id) || is_inside(flow, limit.reset_by, id) {
        return None;
    }
    let header = flow.loops[id.index()].header;
    if limit.block == header {
        return Some(limit.max_visits);
    }
    // Checks if an iteration can return to the header without running the counted block.
    let mut seen = BTreeSet::from([header, limit.block]);
    let mut pending = vec![header];
    while let Some(block) = pending.pop() {
        for edge in program.block(block).terminator.edges() {
            let Destination::Block(next) = edge.target else { continue };
            if next == header {
                return None;
            }
            if is_inside(flow, next, id) && seen.insert(next) {
                pending.push(next);
            }
        }
    }
    // The last iteration may end before the counted block.
    Some(limit.max_visits.saturating_add(1))
}

/// Returns true if the kernel's verifier follows each iteration of a loop. It does not if the
/// kernel itself limits how often a basic block of the loop runs, as with `bpf_loop`.
fn is_verified(lifted: &Lifted, flow: &FlowGraph, id: LoopId) -> bool {
    let limits = &lifted.program.visit_limits;
    lifted.verifier_limit_scope != VerifierLimitScope::Nothing
        && !limits.iter().any(|limit| is_inside(flow, limit.block, id))
}

fn is_inside(flow: &FlowGraph, block: BlockId, id: LoopId) -> bool {
    let mut enclosing = flow.innermost[block.index()];
    while let Some(inner) = enclosing.filter(|&inner| inner != id) {
        enclosing = flow.loops[inner.index()].parent;
    }
    enclosing == Some(id)
}
