//! Number of times that one run can reach given blocks.

use std::collections::BTreeMap;

use slowpath_ir::{Block, BlockId, Destination};

/// Assumed number of iterations of a loop; more calls in one run count as this many.
const ROUNDS: u64 = 1024;

/// Returns the largest weight of the blocks on a path; blocks in loops count [`ROUNDS`] times.
pub(in crate::lift) fn most_on_a_path(blocks: &[Block], weights: &BTreeMap<BlockId, u64>) -> u64 {
    let successors = |block: usize| {
        let edges = blocks[block].terminator.edges();
        edges.filter_map(|edge| match edge.target {
            Destination::Block(next) => Some(next.index()),
            Destination::Exit(_) | Destination::Never => None,
        })
    };
    // Strongly connected components (Tarjan), without recursion, because programs have up to
    // 200,000 blocks. A component is completed after all its successors, so their heaviest paths
    // are known then.
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
            // Current block, and its successors that are not visited yet.
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
            // An earlier block of the same component will complete it.
            if low[block] != order[block] {
                continue;
            }
            let at = stack.iter().rposition(|&other| other == block).unwrap_or(0);
            let members = stack.split_off(at);
            let number = best.len();
            members.iter().for_each(|&member| component[member] = number);
            let repeats = members.len() > 1 || successors(block).any(|to| to == block);
            let weigh = |&member: &usize| weights.get(&BlockId::from(member)).copied();
            let own: u64 = members.iter().filter_map(weigh).sum();
            let own = if repeats { own.saturating_mul(ROUNDS) } else { own };
            let behind = members.iter().flat_map(|&member| successors(member));
            let behind = behind.filter_map(|to| best.get(component[to]).copied()).max();
            best.push(own.saturating_add(behind.unwrap_or(0)));
        }
    }
    best.into_iter().max().unwrap_or(0)
}
