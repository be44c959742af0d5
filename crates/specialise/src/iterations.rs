//! Finds loops whose number of iterations follows from facts about packets and maps.

use crate::analysis::Analysis;
use crate::graph::{Graph, Loop};
use crate::passes::Log;

/// Bounds on the number of iterations of a loop. An iteration starts at the loop's first
/// instruction. The last iteration counts even if it only tests the loop condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationBounds {
    /// Slot of the loop's first instruction in the original program.
    pub slot: usize,
    /// Minimum number of iterations each time the loop is entered.
    pub min: usize,
    /// Maximum number of iterations each time the loop is entered.
    pub max: usize,
}

/// Records that loops that never jump back to their start run exactly one iteration.
pub(crate) fn note_single_rounds(graph: &Graph, analysis: &mut Analysis<'_>, log: &mut Log) {
    for found in graph.loops(0).into_iter().flatten() {
        if analysis.entry(found.header).is_none() {
            continue;
        }
        let mut again = false;
        for &block in &found.blocks {
            analysis.out_edges(graph, block, |to, _| again |= to == found.header);
        }
        if !again {
            log.note_iterations(graph.begins(found.header), 1);
        }
    }
}

/// Returns the bounds on iterations for the loops of the original program, by slot. `rewritten` is
/// the program after all passes.
///
/// The minimum for an inner loop is 1, because a pass may remove its back edge before its
/// iterations are counted. Loops that are still in the rewritten program have no known bounds.
pub(crate) fn iteration_bounds(
    original: &Graph,
    rewritten: &Graph,
    log: &Log,
) -> Vec<IterationBounds> {
    let (Some(before), Some(left)) = (original.loops(0), rewritten.loops(0)) else {
        return Vec::new();
    };
    let left: Vec<usize> = left.iter().map(|found| rewritten.begins(found.header)).collect();
    let mut all = Vec::new();
    for found in &before {
        let slot = original.begins(found.header);
        let around = |other: &Loop| other != found && found.blocks.is_subset(&other.blocks);
        let nested = before.iter().any(around);
        if let Some(&(least, most)) = log.iterations.get(&slot).filter(|_| !left.contains(&slot)) {
            all.push(IterationBounds { slot, min: if nested { 1 } else { least }, max: most });
        }
    }
    all.sort_unstable_by_key(|iterations| iterations.slot);
    all
}
