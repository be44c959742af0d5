//! Which programs of a chain no packet reaches.
//!
//! A search for the path that enters most of those in question: it ends with a path through some of
//! them, or with a bound of none.

use crate::frontend::Lifted;
use crate::job::{Job, Setting};
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

/// Adds a note for each program of a chain that no packet reaches. Without effect when that is not
/// known before it is time to stop.
///
/// # Errors
/// When the program cannot be unrolled again, which is a defect.
pub(crate) fn note_unreached(
    job: &Job<'_>,
    setting: &Setting<'_>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    result: &mut ProgramResult,
) -> Result<(), Error> {
    let Some(chain) = job.request.object.as_chain() else { return Ok(()) };
    let lifted = setting.lifted;
    let on_path = result.paths.iter().flat_map(|path| &path.edges);
    let reached: BTreeSet<&str> = on_path.filter_map(|&(block, _)| lifted.member(block)).collect();
    let counts = |member: &ChainMember| {
        chain.counted.as_ref().is_none_or(|counted| counted.contains(&member.program))
    };
    let asked: HashSet<&str> =
        chain.members.iter().filter(|member| counts(member)).map(|of| of.name.as_str()).collect();
    let starts =
        lifted.starts().filter(|(_, name)| asked.contains(name) && !reached.contains(name));
    let mut open: BTreeSet<u32> = starts.map(|(first, _)| first).collect();
    job.control.stop.enter(stages::REACHING);
    while !open.is_empty() {
        match entered(job, setting, limits, packets, &open)? {
            Reached::None => break,
            Reached::Some(entered) if !entered.is_disjoint(&open) => {
                open.retain(|start| !entered.contains(start));
            }
            Reached::Some(_) | Reached::Unknown => open.clear(),
        }
    }
    // Programs that constants exclude have not even been lifted.
    let lifted_members: HashSet<&str> = lifted.starts().map(|(_, name)| name).collect();
    let open: HashSet<&str> = open.iter().filter_map(|&start| lifted.member(start)).collect();
    let condition = if result.assumptions.is_empty() { "" } else { ", if the assumptions hold" };
    for member in chain.members.iter().filter(|member| counts(member)) {
        let name = member.name.as_str();
        if open.contains(name) || !lifted_members.contains(name) {
            let why = why(chain, member.program);
            result.notes.push(format!("{name} is never reached: {why}{condition}"));
        }
    }
    Ok(())
}

/// What is found of programs in question.
enum Reached {
    /// A packet reaches these.
    Some(BTreeSet<u32>),
    /// No packet reaches any.
    None,
    /// There was no time.
    Unknown,
}

/// Looks for a path through some of the programs that begin with these instructions.
fn entered(
    job: &Job<'_>,
    setting: &Setting<'_>,
    limits: &UnrollLimits,
    packets: (u32, u32),
    starts: &BTreeSet<u32>,
) -> Result<Reached, Error> {
    let stop = &job.control.stop;
    let program = marked(setting.lifted, starts);
    let prices =
        (0..program.cost_classes.len()).map(|class| u64::from(class == mark(setting.lifted)));
    let (target, model) =
        setting.measure.target.with_counter("entered", prices.collect::<Vec<_>>());
    let unrolled = match unroll(Rc::new(program), limits, stop) {
        Err(SearchError::Stopped(_)) => return Ok(Reached::Unknown),
        other => other.map_err(|error| Error::Input(error.to_string()))?,
    };
    let metric = Metric::Component(0);
    let mut search = Search::new(unrolled, &model, target, metric, packets, BitSolver::new());
    loop {
        if job.reason_to_stop().is_some() {
            return Ok(Reached::Unknown);
        }
        match search.step() {
            Ok(Found::Working | Found::Reached(_)) => {}
            Ok(Found::Bound(bound)) if bound.cost[0] == 0 => return Ok(Reached::None),
            Ok(Found::Bound(_)) => {}
            Ok(Found::Path(found)) if found.cost[0] == 0 => return Ok(Reached::None),
            Ok(Found::Path(found)) => {
                return Ok(Reached::Some(on_path(search.unrolled(), &found.path, starts)));
            }
            // Which programs packets reach is worth less than the guarantee, which stands.
            Ok(Found::Complete | Found::GaveUp(_)) | Err(_) => return Ok(Reached::Unknown),
        }
    }
}

/// The number of the cost class that entries get.
fn mark(lifted: &Lifted) -> usize {
    lifted.program.cost_classes.len()
}

/// The program, in which the work of these instructions is of a class of its own.
fn marked(lifted: &Lifted, starts: &BTreeSet<u32>) -> Program {
    let class = CostClassId::from(mark(lifted));
    let mut program = lifted.program.clone();
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
    program
}

/// Which of these instructions a path executes.
fn on_path(unrolled: &Unrolled, path: &[ArcId], starts: &BTreeSet<u32>) -> BTreeSet<u32> {
    let program = unrolled.executor.program();
    let blocks = path.iter().map(|&arc| program.block(unrolled.dag[unrolled.dag[arc].tail].block));
    let insns = blocks.flat_map(|block| block.insns.iter().map(|insn| insn.0));
    insns.filter(|insn| starts.contains(insn)).collect()
}

/// Why a program is not reached: what those before it never return.
fn why(chain: &ProgramChain, program: usize) -> String {
    let name = |number: usize| {
        let member = chain.members.iter().find(|member| member.program == number);
        member.map_or("a program", |member| member.name.as_str())
    };
    // What is no action stands for programs that are gone.
    let action = |&result: &u32| XDP_ACTIONS.get(result as usize).copied();
    let before = chain.handovers.iter().filter(|handover| handover.to == program);
    let never = before.map(|handover| {
        let results: Vec<&str> = handover.results.iter().filter_map(action).collect();
        format!("{} return {}", name(handover.from), results.join(" or "))
    });
    format!("no packet makes {}", never.collect::<Vec<_>>().join(", nor "))
}
