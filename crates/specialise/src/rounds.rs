//! Loops of a program of which it is known how many rounds they have.

use crate::analysis::Analysis;
use crate::graph::{Graph, Loop};
use crate::passes::Log;

/// How many rounds a loop has. Each begins with its first instruction; one that only finds that there
/// is nothing left to do counts as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The slot of its first instruction in the original program.
    pub slot: usize,
    /// How many it has at least, whenever control gets there.
    pub least: usize,
    /// How many at most.
    pub most: usize,
}

/// Notes the loops that never go round.
pub(crate) fn note_single_rounds(graph: &Graph, analysis: &mut Analysis<'_>, log: &mut Log) {
    for found in graph.loops(0).into_iter().flatten() {
        if analysis.entry(found.header).is_none() {
            continue;
        }
        let mut again = false;
        for &block in &found.blocks {
            analysis.ways(graph, block, |to, _| again |= to == found.header);
        }
        if !again {
            log.note_rounds(graph.begins(found.header), 1);
        }
    }
}

/// What is known of the loops of a program, which `rewritten` was made of.
///
/// A loop inside of another one may have lost a round's way back before its rounds were counted, so
/// that it has one round at least; of a loop that is still there in some copy, nothing is known.
pub(crate) fn noted(original: &Graph, rewritten: &Graph, log: &Log) -> Vec<Rounds> {
    let (Some(before), Some(left)) = (original.loops(0), rewritten.loops(0)) else {
        return Vec::new();
    };
    let left: Vec<usize> = left.iter().map(|found| rewritten.begins(found.header)).collect();
    let mut all = Vec::new();
    for found in &before {
        let slot = original.begins(found.header);
        let around = |other: &Loop| other != found && found.blocks.is_subset(&other.blocks);
        let nested = before.iter().any(around);
        if let Some(&(least, most)) = log.rounds.get(&slot).filter(|_| !left.contains(&slot)) {
            all.push(Rounds { slot, least: if nested { 1 } else { least }, most });
        }
    }
    all.sort_unstable_by_key(|rounds| rounds.slot);
    all
}
