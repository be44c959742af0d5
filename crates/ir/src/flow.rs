//! The control-flow graph: reachable blocks in reverse postorder and the nesting of loops.
//!
//! A loop is a strongly connected part of the graph with a single entry block, its header
//! (Havlak, "Nesting of reducible and irreducible loops", TOPLAS 1997). Graphs with loops that
//! have several entries are refused; no compiler that the front ends know emits them.

use crate::{BlockId, Destination, LoopId, Program};
use thiserror::Error;

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The only block through which it is entered.
    pub header: BlockId,
    /// All its blocks, inner loops included, in reverse postorder.
    pub blocks: Vec<BlockId>,
    /// The loop around it.
    pub parent: Option<LoopId>,
}

/// A control-flow graph that cannot be unrolled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlowError {
    /// A loop with several entries.
    #[error("the loop around instruction {header} can be entered at instruction {other} as well")]
    Irreducible {
        /// First instruction of one entry.
        header: u32,
        /// First instruction of another.
        other: u32,
    },
}

/// Reachable blocks and loops of a program.
#[derive(Clone, Debug)]
pub struct FlowGraph {
    /// Reachable blocks in reverse postorder; the entry comes first.
    pub order: Vec<BlockId>,
    /// Loops; outer ones come before the ones they contain.
    pub loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub innermost: Vec<Option<LoopId>>,
}

impl FlowGraph {
    /// Analyses the control flow of `program`.
    ///
    /// # Errors
    /// [`FlowError::Irreducible`] when a loop has several entries.
    pub fn of(program: &Program) -> Result<Self, FlowError> {
        let successors: Vec<Vec<usize>> = program
            .blocks
            .iter()
            .map(|block| {
                let targets = block.terminator.edges().filter_map(|edge| match edge.target {
                    Destination::Block(next) => Some(next.index()),
                    Destination::Exit(_) | Destination::Never => None,
                });
                targets.collect()
            })
            .collect();
        let order = reverse_postorder(&successors, program.entry.index());
        let mut graph = FlowGraph {
            order: order.iter().map(|&b| BlockId::from(b)).collect(),
            loops: Vec::new(),
            innermost: vec![None; program.blocks.len()],
        };
        let mut position = vec![usize::MAX; program.blocks.len()];
        let mut predecessors = vec![Vec::new(); program.blocks.len()];
        for (index, &block) in order.iter().enumerate() {
            position[block] = index;
            for &target in &successors[block] {
                predecessors[target].push(block);
            }
        }
        let nothing = vec![Visit::default(); program.blocks.len()];
        let mut search = Search { program, successors, predecessors, position, visits: nothing };
        search.find_loops(&mut graph, &order, None, None)?;
        Ok(graph)
    }
}

/// What the search for one loop's parts notes about a block; nothing between searches, so that
/// many small loops in a large program do not cost its size each.
#[derive(Clone, Copy, Default)]
struct Visit {
    allowed: bool,
    /// From 1, in the order of visits; 0 is not visited.
    number: usize,
    low: usize,
    on_stack: bool,
}

/// The search for loops.
struct Search<'a> {
    program: &'a Program,
    successors: Vec<Vec<usize>>,
    /// Of reachable blocks only.
    predecessors: Vec<Vec<usize>>,
    /// Places in the reverse postorder.
    position: Vec<usize>,
    visits: Vec<Visit>,
}

impl Search<'_> {
    /// Finds the loops among `blocks` (in reverse postorder) when `cut`, the header of the loop
    /// around them, is left out as a target.
    fn find_loops(
        &mut self,
        graph: &mut FlowGraph,
        blocks: &[usize],
        cut: Option<usize>,
        parent: Option<LoopId>,
    ) -> Result<(), FlowError> {
        for mut members in self.components(blocks, cut) {
            let first = members[0];
            let loops_to_itself = self.successors[first].contains(&first) && Some(first) != cut;
            if members.len() == 1 && !loops_to_itself {
                continue;
            }
            // If there is one entry, all ways into the loop come through it, so that it is the
            // first in reverse postorder. Whether it is the only one is looked at next.
            members.sort_by_key(|&block| self.position[block]);
            let header = members[0];
            members.iter().for_each(|&block| self.visits[block].allowed = true);
            let from_outside = |&before: &usize| !self.visits[before].allowed;
            let entered = |&&block: &&usize| self.predecessors[block].iter().any(from_outside);
            let other_entry = members[1..].iter().find(entered).copied();
            members.iter().for_each(|&block| self.visits[block].allowed = false);
            if let Some(other) = other_entry {
                return Err(FlowError::Irreducible {
                    header: self.program.blocks[header].first.0,
                    other: self.program.blocks[other].first.0,
                });
            }
            let id = LoopId::from(graph.loops.len());
            // Loops inside of this one come later and take their blocks over.
            members.iter().for_each(|&block| graph.innermost[block] = Some(id));
            graph.loops.push(Loop {
                header: BlockId::from(header),
                blocks: members.iter().map(|&block| BlockId::from(block)).collect(),
                parent,
            });
            // Without the edges back to the header, what still goes round is an inner loop.
            self.find_loops(graph, &members, Some(header), Some(id))?;
        }
        Ok(())
    }

    /// Strongly connected components of the graph restricted to `blocks` without the edges into
    /// `cut` (Tarjan, iterative).
    fn components(&mut self, blocks: &[usize], cut: Option<usize>) -> Vec<Vec<usize>> {
        let (visits, successors) = (&mut self.visits, &self.successors);
        blocks.iter().for_each(|&block| visits[block].allowed = Some(block) != cut);
        let (mut stack, mut result, mut counter) = (Vec::new(), Vec::new(), 0);
        // `cut` is a root as well, but no way leads back to it: a component of its own, and no
        // loop.
        for &root in blocks {
            if visits[root].number != 0 {
                continue;
            }
            let mut work = vec![(root, 0)];
            while let Some((block, next)) = work.pop() {
                if next == 0 {
                    counter += 1;
                    let Visit { number, low, on_stack, .. } = &mut visits[block];
                    (*number, *low, *on_stack) = (counter, counter, true);
                    stack.push(block);
                } else {
                    // Back from a child. It has left the stack if its component is complete.
                    let child = successors[block][next - 1];
                    if visits[child].allowed && visits[child].on_stack {
                        visits[block].low = visits[block].low.min(visits[child].low);
                    }
                }
                // The next target to go to, or to take `low` from. Tarjan takes the number of a
                // target on the stack; its `low` is as good, since both are in the same component.
                let rest = successors[block][next..].iter().position(|&target| {
                    let Visit { allowed, number, on_stack, .. } = visits[target];
                    allowed && (number == 0 || on_stack)
                });
                if let Some(offset) = rest {
                    let target = successors[block][next + offset];
                    work.push((block, next + offset + 1));
                    if visits[target].number == 0 {
                        work.push((target, 0));
                    }
                } else if visits[block].low == visits[block].number {
                    let start = stack.iter().rposition(|&b| b == block).unwrap_or(0);
                    let component = stack.split_off(start);
                    component.iter().for_each(|&b| visits[b].on_stack = false);
                    result.push(component);
                }
            }
        }
        blocks.iter().for_each(|&block| visits[block] = Visit::default());
        result
    }
}

fn reverse_postorder(successors: &[Vec<usize>], entry: usize) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut postorder = Vec::new();
    let mut stack = vec![(entry, 0)];
    seen[entry] = true;
    while let Some((block, next)) = stack.pop() {
        if let Some(&target) = successors[block].get(next) {
            stack.push((block, next + 1));
            if !seen[target] {
                seen[target] = true;
                stack.push((target, 0));
            }
        } else {
            postorder.push(block);
        }
    }
    postorder.reverse();
    postorder
}
