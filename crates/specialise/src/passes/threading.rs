//! Jump threading. If the path into a block decides the branch at the block's end, control jumps
//! directly to the target of the branch. A copy of the block's few instructions is executed on this
//! path.

use super::log::{Change, Log};
use crate::analysis::{Analysis, bounds_check};
use crate::fault::{self, Fault};
use crate::graph::{Block, BlockId, End, Graph};
use std::collections::BTreeSet;

/// Maximum number of instructions that jump threading copies for each jump.
const SMALL: usize = 4;

/// Changes jumps so that they bypass branches with a known outcome. Returns true if the graph
/// changed; the analysis is then out of date.
pub(crate) fn thread_jumps(graph: &mut Graph, analysis: &mut Analysis<'_>, log: &mut Log) -> bool {
    let Some(loops) = graph.loops(0) else { return false };
    let headers: BTreeSet<BlockId> = loops.iter().map(|found| found.header).collect();
    let order = graph.order(0);
    let mut into = vec![0_usize; graph.blocks.len()];
    for &block in &order {
        graph.blocks[block].end.successors().for_each(|next| into[next] += 1);
    }
    let mut changed = false;
    for block in order {
        let mut ways = Vec::new();
        analysis.out_edges(graph, block, |to, state| ways.push((to, state)));
        for (to, mut state) in ways {
            let next = graph.blocks[to].clone();
            let End::Branch { test, taken, other } = next.end else { continue };
            let only = into[to] < 2 || to == block || headers.contains(&to);
            if only || next.insns.len() > SMALL || taken == other {
                continue;
            }
            for (place, instr) in next.insns.iter().enumerate() {
                analysis.step(&mut state, to, place, instr);
            }
            let src = analysis.operand(&state, &test);
            let Some(decision) = analysis.decide(&state, &test, &src) else { continue };
            // Bounds checks stay, because the kernel's verifier needs them.
            if bounds_check(&test, state.reg(test.dst), &src).is_some() {
                continue;
            }
            log.note(next.origin, Change::Threaded, decision.reason);
            let holds = decision.holds != fault::has(Fault::WrongTarget);
            let end = End::Jump(if holds { taken } else { other });
            let mut insns = next.insns;
            if fault::has(Fault::CopyForgotten) {
                insns.clear();
            }
            graph.blocks.push(Block { insns, end, origin: next.origin });
            let copy = graph.blocks.len() - 1;
            let old = graph.blocks[block].end;
            graph.blocks[block].end = old.map(|end| if end == to { copy } else { end });
            into[to] -= 1;
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests;
