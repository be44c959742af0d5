//! Loops whose number of rounds and whose outcome are known: round after round is taken out of the
//! loop, until nothing of it is left. A loop of which that is not true stays as it is.

use super::branches::fold_branches;
use super::log::Log;
use crate::analysis::{Analysis, Setting};
use crate::fault::{self, Fault};
use crate::graph::{BlockId, Graph, Loop};
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// Most rounds of a loop.
const ROUNDS: usize = 256;
/// Most instructions that a program may have on the way.
const LARGE: usize = 20_000;

/// Takes loops apart whose rounds are known; whether there were any.
///
/// # Errors
/// The reason to stop.
pub(crate) fn collapse_loops(
    graph: &mut Graph,
    setting: &Setting<'_>,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool, StopReason> {
    let mut unroller = Unroller { setting, stop, failed: BTreeSet::new() };
    let mut changed = false;
    // The outer ones first: what is known of inner ones may depend on their rounds.
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
    setting: &'a Setting<'a>,
    stop: &'a Stop,
    /// The headers of loops that stay.
    failed: BTreeSet<BlockId>,
}

impl Unroller<'_> {
    /// The largest loop that was not tried yet, if any, among some blocks.
    fn next(&self, graph: &Graph, among: Option<&BTreeSet<BlockId>>) -> Option<Loop> {
        let untried = |found: &Loop| {
            !self.failed.contains(&found.header)
                && among.is_none_or(|among| found.blocks.is_subset(among))
        };
        graph.loops(0)?.into_iter().rev().find(untried)
    }

    /// Takes round after round out of a loop. Returns whether nothing of it is left.
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
            let mut analysis = Analysis::of(graph, self.setting, self.stop)?;
            fold_branches(graph, &mut analysis, log);
            let mut inside: BTreeSet<BlockId> = (first..graph.blocks.len()).collect();
            while let Some(inner) = self.next(graph, Some(&inside)) {
                let (mut trial, mut trial_log) = (graph.clone(), log.clone());
                if !self.collapse(&mut trial, &inner, &mut trial_log)? {
                    return Ok(false);
                }
                (*graph, *log) = (trial, trial_log);
                inside = (first..graph.blocks.len()).collect();
                analysis = Analysis::of(graph, self.setting, self.stop)?;
            }
            // What was known before branches were folded still holds behind them.
            let reached: BTreeSet<BlockId> = graph.order(0).into_iter().collect();
            if analysis.entry(found.header).is_none() || !reached.contains(&found.header) {
                log.note_rounds(graph.begins(found.header), round + 1);
                return Ok(true);
            }
            let (mut leaves, mut stays) = (false, false);
            for &block in inside.intersection(&reached) {
                analysis.ways(graph, block, |to, _| {
                    let copied = to >= first;
                    leaves |= !copied && !found.blocks.contains(&to);
                    stays |= !copied && found.blocks.contains(&to);
                });
            }
            // Whether there is another round is not known.
            if leaves && stays {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

/// Puts a copy of a loop's blocks in front of it: its first round.
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
        // What goes round goes on in the loop that is left.
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
