//! Computes an upper bound on the number of times that one run reaches certain blocks.

use std::collections::BTreeMap;

use slowpath_ir::{Block, BlockId};

/// Returns the largest sum of block weights on any path. Returns [`u64::MAX`] if a block with a
/// weight is in a loop, whose number of iterations is unknown here. The result must not be too
/// small: callers compare it with the size of a map, and would exclude runs that fill the map.
pub(in crate::lift) fn most_on_a_path(blocks: &[Block], weights: &BTreeMap<BlockId, u64>) -> u64 {
    let successors = |block: usize| blocks[block].terminator.successors().map(BlockId::index);
    // Strongly connected components (Tarjan), without recursion, because programs have up to
    // 200,000 blocks. A component is completed after all its successors, so the weights of their
    // heaviest paths are known by then.
    let unseen = usize::MAX;
    let (mut order, mut low) = (vec![unseen; blocks.len()], vec![0; blocks.len()]);
    let mut component = vec![unseen; blocks.len()];
    let mut best: Vec<u64> = Vec::new();
    let (mut stack, mut met) = (Vec::new(), 0);
    for start in 0..blocks.len() {
        if order[start] != unseen {
            continue;
        }
        let mut work: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut entered = Some(start);
        loop {
            if let Some(block) = entered.take() {
                (order[block], low[block]) = (met, met);
                met += 1;
                stack.push(block);
                work.push((block, successors(block).collect()));
            }
            // The current block, and its successors that are still to be visited.
            let Some((block, next)) = work.last_mut() else { break };
            let block = *block;
            if let Some(to) = next.pop() {
                if order[to] == unseen {
                    entered = Some(to);
                } else if component[to] == unseen {
                    low[block] = low[block].min(order[to]);
                }
                continue;
            }
            work.pop();
            if let Some((before, _)) = work.last() {
                low[*before] = low[*before].min(low[block]);
            }
            // The component's first block completes it.
            if low[block] != order[block] {
                continue;
            }
            let at = stack.iter().rposition(|&other| other == block).unwrap_or(0);
            let members = stack.split_off(at);
            let number = best.len();
            members.iter().for_each(|&member| component[member] = number);
            let repeats = members.len() > 1 || successors(block).any(|to| to == block);
            let weigh = |&member: &usize| weights.get(&BlockId::from(member)).copied();
            let once: u64 = members.iter().filter_map(weigh).sum();
            let weight = if repeats && once > 0 { u64::MAX } else { once };
            let later = members.iter().flat_map(|&member| successors(member));
            let later = later.filter_map(|to| best.get(component[to]).copied()).max();
            best.push(weight.saturating_add(later.unwrap_or(0)));
        }
    }
    best.into_iter().max().unwrap_or(0)
}
