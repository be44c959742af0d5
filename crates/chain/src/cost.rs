//! Finds the maximum number of instructions that a program executes for packets with given facts.
//!
//! The ordinary search for the slowest path (`slowpath_search`) finds this number by counting
//! instructions. Known bytes of the packet are constants wherever the program reads them. All other
//! facts are conditions of every path.

use crate::facts::Arrival;
use serde::{Deserialize, Serialize};
use slowpath_bpf::lift::{self, LiftOptions};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_search::{
    Event, InputEnumeration, Metric, Search, SearchError, SearchOptions, UnrollLimits, Unrolled,
    unroll_from,
};
use slowpath_smt::{BitSolver, Evaluator, Solver, TermId};
use slowpath_stop::Stop;
use slowpath_target::Target;
use std::rc::Rc;

/// Name of the built-in performance target of the search. The search here uses only its count of
/// instructions, not its other costs.
const TARGET: &str = "ebpf";
const COUNTED: &str = "instructions";

/// Upper bound on the number of instructions that a program executes for a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cost {
    /// Upper bound on the number of executed instructions, for all packets for which the facts
    /// hold.
    pub instructions: u64,
    /// True if some packet executes exactly this many instructions.
    pub exact: bool,
    pub queries: u64,
}

/// Finds the maximum number of instructions that a program executes for packets with the given
/// facts. If `stop` ends the search early, the result is an upper bound.
///
/// # Errors
/// Returns the reason, in words, if no bound was found.
pub(crate) fn max_instructions(
    (object, program): (&Object, &BpfProgram),
    facts: &PacketFacts,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Cost, String> {
    let lift = LiftOptions {
        receive: options.receive.with_length(facts.min_length, facts.max_length),
        stop: stop.clone(),
        ..options.clone()
    };
    let lifted = lift::lift(object, program, &lift).map_err(|error| error.to_string())?;
    let (arrival, start) =
        Arrival::new(&lifted, facts).ok_or_else(|| "the packet has no length".to_owned())?;
    let target = Target::builtin(TARGET).ok_or_else(|| format!("there is no target {TARGET}"))?;
    let target = target.map_err(|error| error.to_string())?;
    let counter = target.counter(COUNTED).ok_or_else(|| format!("{TARGET} counts no {COUNTED}"))?;
    let code = lifted.program;
    let model = target.cost_model(&code.cost_classes).map_err(|error| error.to_string())?;
    let unrolled = unroll_from(Rc::new(code), &UnrollLimits::default(), &start, stop);
    let mut unrolled = unrolled.map_err(|error| error.to_string())?;
    if let Some(cut) = unrolled.assumptions.first() {
        return Err(cut.clone());
    }
    let known = arrival.all_conditions(&mut unrolled.executor.pool);
    require(&mut unrolled, &known);
    // Trying all inputs would ignore the conditions that facts are.
    let how = SearchOptions { inputs: InputEnumeration::Never, ..SearchOptions::default() };
    let packets = (facts.min_length.into(), facts.max_length.into());
    let metric = Metric::Component(counter);
    let mut search =
        Search::with_options(unrolled, &model, target, metric, packets, BitSolver::new(), how);
    loop {
        let step = match stop.reason() {
            Some(reason) => Err(SearchError::Stopped(reason)),
            None => search.step(),
        };
        let queries = search.solver().statistics().checks;
        match step {
            Ok(Event::Working | Event::Bound(_) | Event::EarlyPath(_)) => {}
            Ok(Event::Path(found)) => {
                let pool = &search.unrolled().executor.pool;
                let mut evaluator = Evaluator::new(pool, &found.model);
                let exact = known.iter().all(|&condition| evaluator.value(condition) == 1);
                return Ok(Cost { instructions: found.cost[counter], exact, queries });
            }
            // No packet arrives, or every packet is excluded before its end.
            Ok(Event::Complete) => return Ok(Cost { instructions: 0, exact: true, queries }),
            Ok(Event::GaveUp(_)) | Err(SearchError::Stopped(_)) => {
                let bound = search.bound().ok_or_else(|| "there is no bound".to_owned())?;
                let instructions = bound.cost[counter];
                return Ok(Cost { instructions, exact: false, queries });
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Restricts all paths of an unrolled program to runs for which the conditions hold. Adds the
/// conditions to the first edges of its path graph.
fn require(unrolled: &mut Unrolled, conditions: &[TermId]) {
    let pool = &mut unrolled.executor.pool;
    let mut all = pool.bool(true);
    for &condition in conditions {
        all = pool.and(all, condition);
    }
    if pool.as_const(all) == Some(1) {
        return;
    }
    let first = unrolled.dag[slowpath_search::Dag::ENTRY].out.clone();
    for arc in first {
        let Some(arc) = unrolled.dag.arcs.get_mut(arc.index()) else { continue };
        let term = match arc.condition {
            Some((condition, true)) => pool.and(all, condition),
            Some((condition, false)) => {
                let not = pool.not(condition);
                pool.and(all, not)
            }
            None => all,
        };
        arc.condition = Some((term, true));
    }
}
