//! Finds the programs of a chain that no packet reaches.
//!
//! A search maximises the number of programs, among those not reached so far, that a path enters.
//! Each search finds a path through some of these programs, or proves that no packet reaches any of
//! them.

use crate::frontend::Lifted;
use crate::job::{Job, SearchContext};
use crate::object::{ChainMember, ProgramChain};
use crate::result::ProgramResult;
use crate::{Error, stages};
use slowpath_bpf::XDP_ACTIONS;
use slowpath_exec::ArcId;
use slowpath_ir::{CostClassId, Program, Terminator};
use slowpath_search::{
    Event as Found, Metric, Search, SearchError, UnrollLimits, Unrolled, unroll,
};
use slowpath_smt::BitSolver;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Adds a note to the result for each program of a chain that no packet reaches. If time runs out,
/// adds no note about undecided programs.
///
/// # Errors
/// If the program cannot be unrolled again, which is a defect.
pub(crate) fn note_unreached(
    job: &Job<'_>,
    context: &SearchContext<'_>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    result: &mut ProgramResult,
) -> Result<(), Error> {
    let Some(chain) = job.request.object.as_chain() else { return Ok(()) };
    let lifted = context.lifted;
    let on_path = result.paths.iter().flat_map(|path| &path.edges);
    let reached: BTreeSet<&str> = on_path.filter_map(|&(block, _)| lifted.member(block)).collect();
    let counts = |member: &ChainMember| {
        chain.counted.as_ref().is_none_or(|counted| counted.contains(&member.program))
    };
    let counted: HashSet<&str> =
        chain.members.iter().filter(|member| counts(member)).map(|of| of.name.as_str()).collect();
    let starts =
        lifted.starts().filter(|(_, name)| counted.contains(name) && !reached.contains(name));
    let mut unreached: BTreeSet<u32> = starts.map(|(first, _)| first).collect();
    job.control.stop.enter(stages::REACHING);
    while !unreached.is_empty() {
        match search_reachable(job, context, limits, packets, &unreached)? {
            Reached::None => break,
            Reached::Some(found) if !found.is_disjoint(&unreached) => {
                unreached.retain(|start| !found.contains(start));
            }
            Reached::Some(_) | Reached::Unknown => unreached.clear(),
        }
    }
    // The front end does not lift programs that constants exclude.
    let lifted_members: HashSet<&str> = lifted.starts().map(|(_, name)| name).collect();
    let unreached: HashSet<&str> =
        unreached.iter().filter_map(|&start| lifted.member(start)).collect();
    let condition = if result.assumptions.is_empty() { "" } else { ", if the assumptions hold" };
    for member in chain.members.iter().filter(|member| counts(member)) {
        let name = member.name.as_str();
        if unreached.contains(name) || !lifted_members.contains(name) {
            let reason = unreached_reason(chain, member.program);
            result.notes.push(format!("{name} is never reached: {reason}{condition}"));
        }
    }
    Ok(())
}

/// Result of a search for a packet that reaches one of several programs.
enum Reached {
    /// A packet reaches some of the programs. The set contains the number of each program's first
    /// instruction.
    Some(BTreeSet<u32>),
    /// No packet reaches any of the programs.
    None,
    /// Time ran out, or the search failed.
    Unknown,
}

/// Searches for a packet that reaches at least one of several programs of a chain. `starts`
/// contains the first instructions of the programs.
fn search_reachable(
    job: &Job<'_>,
    context: &SearchContext<'_>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    starts: &BTreeSet<u32>,
) -> Result<Reached, Error> {
    let stop = &job.control.stop;
    let (program, entry_class) = with_entry_class(context.lifted, starts);
    let prices =
        (0..program.cost_classes.len()).map(|class| u64::from(class == entry_class.index()));
    let (target, model) =
        context.measure.target.with_counter("entered", prices.collect::<Vec<_>>());
    let unrolled = match unroll(Rc::new(program), limits, stop) {
        Err(SearchError::Stopped(_)) => return Ok(Reached::Unknown),
        other => other.map_err(|error| Error::Input(error.code(), error.to_string()))?,
    };
    let metric = Metric::Component(0);
    let mut search = Search::new(unrolled, &model, target, metric, packets, BitSolver::new());
    loop {
        if job.reason_to_stop().is_some() {
            return Ok(Reached::Unknown);
        }
        match search.step() {
            Ok(Found::Working | Found::EarlyPath(_)) => {}
            Ok(Found::Bound(bound)) if bound.cost[0] == 0 => return Ok(Reached::None),
            Ok(Found::Bound(_)) => {}
            Ok(Found::Path(found)) if found.cost[0] == 0 => return Ok(Reached::None),
            Ok(Found::Path(found)) => {
                return Ok(Reached::Some(on_path(search.unrolled(), &found.path, starts)));
            }
            // A failure is ignored, because the guarantee does not depend on this note.
            Ok(Found::Complete | Found::GaveUp(_)) | Err(_) => return Ok(Reached::Unknown),
        }
    }
}

/// Changes the cost class of the instructions `starts` to a new class, so that a search can count
/// how many of them a path executes. Returns the changed program and the new class.
fn with_entry_class(lifted: &Lifted, starts: &BTreeSet<u32>) -> (Program, CostClassId) {
    let mut program = lifted.program.clone();
    let class = CostClassId::from(program.cost_classes.len());
    program.cost_classes.push("entered".to_owned());
    for block in &mut program.blocks {
        let edges = match &mut block.terminator {
            Terminator::Jump(edge) => vec![edge],
            Terminator::Branch { taken, fallthrough, .. } => vec![taken, fallthrough],
        };
        let of_edges = edges.into_iter().flat_map(|edge| &mut edge.costs);
        for event in block.costs.iter_mut().chain(of_edges) {
            if starts.contains(&event.insn.0) {
                event.class = class;
            }
        }
    }
    (program, class)
}

/// Returns the instructions in `starts` that the path executes.
fn on_path(unrolled: &Unrolled, path: &[ArcId], starts: &BTreeSet<u32>) -> BTreeSet<u32> {
    let program = unrolled.executor.program();
    let blocks = path.iter().map(|&arc| program.block(unrolled.dag[unrolled.dag[arc].tail].block));
    let insns = blocks.flat_map(|block| block.insns.iter().map(|insn| insn.0));
    insns.filter(|insn| starts.contains(insn)).collect()
}

/// Returns the reason why no packet reaches a program: the return values that lead to it and that
/// the programs before it never return.
fn unreached_reason(chain: &ProgramChain, program: usize) -> String {
    let name = |number: usize| {
        let member = chain.members.iter().find(|member| member.program == number);
        member.map_or("a program", |member| member.name.as_str())
    };
    // Results that are not XDP actions stand for deleted programs.
    let action = |&result: &u32| XDP_ACTIONS.get(result as usize).copied();
    let before = chain.handovers.iter().filter(|handover| handover.to == program);
    let never = before.map(|handover| {
        let results: Vec<&str> = handover.results.iter().filter_map(action).collect();
        format!("{} return {}", name(handover.from), results.join(" or "))
    });
    format!("no packet makes {}", never.collect::<Vec<_>>().join(", nor "))
}
