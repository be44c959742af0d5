//! Removes blocks that do nothing but jump, and merges blocks with their only predecessor.

use crate::fault::{self, Fault};
use crate::graph::{BlockId, End, Graph};
use slowpath_stop::{Reason as StopReason, Stop};

/// Removes unnecessary jumps. Returns true if the graph changed.
///
/// # Errors
/// The reason why the pass stopped early.
pub(crate) fn simplify_jumps(graph: &mut Graph, stop: &Stop) -> Result<bool, StopReason> {
    let forwarded = forward(graph, stop)?;
    let merged = merge(graph, stop)?;
    Ok(forwarded || merged)
}

/// Redirects jumps to empty blocks, so that they lead to the targets of these blocks.
fn forward(graph: &mut Graph, stop: &Stop) -> Result<bool, StopReason> {
    let mut changed = false;
    for block in graph.order(0) {
        stop.check()?;
        let old = graph.blocks[block].end;
        let new = old.map(|to| target(graph, to));
        if new != old {
            graph.blocks[block].end = new;
            changed = true;
        }
    }
    let entry = target(graph, graph.entry());
    changed |= std::mem::replace(&mut graph.functions[0].1, entry) != entry;
    Ok(changed)
}

/// Returns the first block that is not empty on the path of unconditional jumps from `block`. This
/// may be `block` itself.
fn target(graph: &Graph, mut block: BlockId) -> BlockId {
    let empty = usize::from(fault::has(Fault::InstructionSkipped));
    // The number of steps is limited, because empty blocks can form a cycle.
    for _ in 0..graph.blocks.len() {
        match graph.blocks[block].end {
            End::Jump(next) if graph.blocks[block].insns.len() <= empty => block = next,
            _ => break,
        }
    }
    block
}

/// Appends each block to the block before it, if no other block leads to it and no branch lies
/// between them.
fn merge(graph: &mut Graph, stop: &Stop) -> Result<bool, StopReason> {
    let mut changed = false;
    let mut into = vec![0_usize; graph.blocks.len()];
    into[graph.entry()] += 1;
    let order = graph.order(0);
    for &block in &order {
        graph.blocks[block].end.successors().for_each(|next| into[next] += 1);
    }
    let mut gone = vec![false; graph.blocks.len()];
    for block in order {
        if gone[block] {
            continue;
        }
        while let End::Jump(next) = graph.blocks[block].end
            && next != block
            && (into[next] == 1 || fault::has(Fault::MergedWithOne))
        {
            stop.check()?;
            let insns = std::mem::take(&mut graph.blocks[next].insns);
            let (end, origin) = (graph.blocks[next].end, graph.blocks[next].origin);
            graph.blocks[next].end = End::Jump(next);
            let into = &mut graph.blocks[block];
            into.insns.extend(insns);
            (into.end, into.origin) = (end, origin);
            gone[next] = true;
            changed = true;
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests;
