//! Unrolls loops whose number of iterations is known. It peels off one iteration after another
//! until no iteration is left. Other loops stay unchanged.

use super::branches::fold_branches;
use super::log::Log;
use crate::analysis::{Analysis, AnalysisInputs};
use crate::fault::{self, Fault};
use crate::graph::{BlockId, Graph, Loop};
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of iterations of a loop that can be unrolled.
const ROUNDS: usize = 256;
/// Maximum number of instructions that a program may have while a loop is unrolled.
const LARGE: usize = 20_000;

/// Unrolls loops whose number of iterations is known. Returns true if the graph changed.
///
/// # Errors
/// The reason why the pass stopped early.
pub(crate) fn collapse_loops(
    graph: &mut Graph,
    inputs: &AnalysisInputs<'_>,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool, StopReason> {
    let mut unroller = Unroller { inputs, stop, failed: BTreeSet::new() };
    let mut changed = false;
    // Outer loops come first: facts about an inner loop may depend on the outer iteration.
    while let Some(found) = unroller.next(graph, None) {
        let (mut trial, mut trial_log) = (graph.clone(), log.clone());
        if unroller.collapse(&mut trial, &found, &mut trial_log)? {
            (*graph, *log) = (trial, trial_log);
            changed = true;
        } else {
            unroller.failed.insert(found.header);
        }
    }
    Ok(changed)
}

struct Unroller<'a> {
    inputs: &'a AnalysisInputs<'a>,
    stop: &'a Stop,
    /// First blocks of loops that could not be unrolled.
    failed: BTreeSet<BlockId>,
}

impl Unroller<'_> {
    /// Returns an outermost loop whose unrolling has not been tried; `None` if there is none. With
    /// `among`, considers only loops all of whose blocks are in this set.
    fn next(&self, graph: &Graph, among: Option<&BTreeSet<BlockId>>) -> Option<Loop> {
        let untried = |found: &Loop| {
            !self.failed.contains(&found.header)
                && among.is_none_or(|among| found.blocks.is_subset(among))
        };
        graph.loops(0)?.into_iter().rev().find(untried)
    }

    /// Copies iterations of a loop in front of it, one after the other. Returns true if no block of
    /// the loop itself is left.
    fn collapse(
        &mut self,
        graph: &mut Graph,
        found: &Loop,
        log: &mut Log,
    ) -> Result<bool, StopReason> {
        for round in 0..ROUNDS {
            if graph.size() > LARGE {
                return Ok(false);
            }
            let first = graph.blocks.len();
            peel(graph, found);
            let mut analysis = Analysis::of(graph, self.inputs, self.stop)?;
            fold_branches(graph, &mut analysis, log);
            let mut inside: BTreeSet<BlockId> = (first..graph.blocks.len()).collect();
            while let Some(inner) = self.next(graph, Some(&inside)) {
                let (mut trial, mut trial_log) = (graph.clone(), log.clone());
                if !self.collapse(&mut trial, &inner, &mut trial_log)? {
                    return Ok(false);
                }
                (*graph, *log) = (trial, trial_log);
                inside = (first..graph.blocks.len()).collect();
                analysis = Analysis::of(graph, self.inputs, self.stop)?;
            }
            // The analysis from before branches were folded is still valid.
            let reached: BTreeSet<BlockId> = graph.order(0).into_iter().collect();
            if analysis.entry(found.header).is_none() || !reached.contains(&found.header) {
                log.note_iterations(graph.begins(found.header), round + 1);
                return Ok(true);
            }
            let (mut leaves, mut stays) = (false, false);
            for &block in inside.intersection(&reached) {
                analysis.out_edges(graph, block, |to, _| {
                    let copied = to >= first;
                    leaves |= !copied && !found.blocks.contains(&to);
                    stays |= !copied && found.blocks.contains(&to);
                });
            }
            // The branch is not decided, so the number of iterations is unknown.
            if leaves && stays {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

/// Puts a copy of a loop's blocks in front of the loop; the copy executes the first iteration.
fn peel(graph: &mut Graph, found: &Loop) {
    let first = graph.blocks.len();
    let copies: BTreeMap<BlockId, BlockId> =
        found.blocks.iter().enumerate().map(|(n, &block)| (block, first + n)).collect();
    let into = copies[&found.header];
    for block in graph.order(0) {
        if !found.blocks.contains(&block) {
            let end = graph.blocks[block].end;
            graph.blocks[block].end = end.map(|to| if to == found.header { into } else { to });
        }
    }
    let mut ways = found.blocks.iter().flat_map(|&block| graph.blocks[block].end.successors());
    let leaves = ways.find(|to| !found.blocks.contains(to));
    let forgets = fault::has(Fault::RoundsForgotten);
    let back = leaves.filter(|_| forgets).unwrap_or(found.header);
    for &block in &found.blocks {
        let mut copy = graph.blocks[block].clone();
        // Back edges in the copy lead to the remaining loop.
        copy.end = copy.end.map(|to| match copies.get(&to) {
            Some(_) if to == found.header => back,
            Some(&copied) => copied,
            None => to,
        });
        graph.blocks.push(copy);
    }
    if graph.functions[0].1 == found.header {
        graph.functions[0].1 = into;
    }
}

#[cfg(test)]
mod tests;
