//! Computes the control-flow graph: the reachable blocks in reverse postorder, and the nesting of
//! loops.
//!
//! A loop is a strongly connected part of the graph with a single entry block, its header (Havlak,
//! "Nesting of reducible and irreducible loops", TOPLAS 1997). Loops with several entries are an
//! error; the compilers that the front ends support do not emit them.

use crate::{Block, BlockId, LoopId, Program};
use slowpath_codes as codes;
use thiserror::Error;

/// A natural loop: a strongly connected set of blocks with a single entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The only block through which paths enter the loop.
    pub header: BlockId,
    /// All blocks of the loop in reverse postorder, inner loops included.
    pub blocks: Vec<BlockId>,
    /// The enclosing loop; `None` for an outermost loop.
    pub parent: Option<LoopId>,
}

/// A control-flow graph that cannot be unrolled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlowError {
    /// A loop has several entries.
    #[error("the loop around instruction {header} can be entered at instruction {other} as well")]
    Irreducible {
        /// First instruction of one entry block of the loop.
        header: u32,
        /// First instruction of another entry block.
        other: u32,
    },
}

impl FlowError {
    /// Returns the code of the error's cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            FlowError::Irreducible { .. } => codes::IRREDUCIBLE_LOOP,
        }
    }
}

/// Reachable blocks and loops of a program.
#[derive(Clone, Debug)]
pub struct FlowGraph {
    /// Reachable blocks in reverse postorder; the entry comes first.
    pub order: Vec<BlockId>,
    /// Loops; an outer loop comes before the loops that it contains.
    pub loops: Vec<Loop>,
    /// The innermost loop of each block, by block number; `None` for blocks outside of loops.
    pub innermost: Vec<Option<LoopId>>,
}

impl FlowGraph {
    /// Analyses the control flow of `program`.
    ///
    /// # Errors
    /// [`FlowError::Irreducible`] when a loop has several entries.
    pub fn of(program: &Program) -> Result<Self, FlowError> {
        let successors =
            |block: &Block| block.terminator.successors().map(BlockId::index).collect();
        let successors: Vec<Vec<usize>> = program.blocks.iter().map(successors).collect();
        let blocks = program.reverse_postorder();
        let order: Vec<usize> = blocks.iter().map(|block| block.index()).collect();
        let mut graph = FlowGraph {
            order: blocks,
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

/// State of a block during one search for strongly connected components. A search resets only the
/// blocks that it visits: resetting all blocks would be slow in large programs with many small
/// loops.
#[derive(Clone, Copy, Default)]
struct Visit {
    allowed: bool,
    /// Number of the block in the order of visits, from 1; 0 for a block that was not visited.
    number: usize,
    low: usize,
    on_stack: bool,
}

/// State of the search for the loops of a program.
struct Search<'a> {
    program: &'a Program,
    successors: Vec<Vec<usize>>,
    /// Predecessors of each block, without blocks that no path from the entry reaches.
    predecessors: Vec<Vec<usize>>,
    /// Position of each block in the reverse postorder, by block number.
    position: Vec<usize>,
    visits: Vec<Visit>,
}

impl Search<'_> {
    /// Finds the loops among `blocks`, which are in reverse postorder. Ignores edges to `cut`, the
    /// header of the enclosing loop.
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
            // If the loop has a single entry, every path into the loop passes through it, so it
            // comes first in reverse postorder. The code below checks that no other entry exists.
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
            // Inner loops are found later and overwrite these entries.
            members.iter().for_each(|&block| graph.innermost[block] = Some(id));
            graph.loops.push(Loop {
                header: BlockId::from(header),
                blocks: members.iter().map(|&block| BlockId::from(block)).collect(),
                parent,
            });
            // Without the edges to this header, the remaining cycles are inner loops.
            self.find_loops(graph, &members, Some(header), Some(id))?;
        }
        Ok(())
    }

    /// Returns the strongly connected components of the graph that consists of `blocks`, without
    /// edges to `cut`. Uses Tarjan's algorithm without recursion.
    fn components(&mut self, blocks: &[usize], cut: Option<usize>) -> Vec<Vec<usize>> {
        let (visits, successors) = (&mut self.visits, &self.successors);
        blocks.iter().for_each(|&block| visits[block].allowed = Some(block) != cut);
        let (mut stack, mut result, mut counter) = (Vec::new(), Vec::new(), 0);
        // `cut` is a root as well. No edge leads back to it, so it forms a component of its own,
        // which is not a loop.
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
                    // The search returns from a child. If the component of the child is complete,
                    // the child is no longer on the stack.
                    let child = successors[block][next - 1];
                    if visits[child].allowed && visits[child].on_stack {
                        visits[block].low = visits[block].low.min(visits[child].low);
                    }
                }
                // Find the next target to visit or to take `low` from. Tarjan takes the number of a
                // target on the stack; its `low` serves as well, because both are in the same
                // component.
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

impl Program {
    /// Returns the reachable blocks in reverse postorder.
    pub fn reverse_postorder(&self) -> Vec<BlockId> {
        let successors = |block| self.block(block).terminator.successors();
        let mut seen = vec![false; self.blocks.len()];
        let mut postorder = Vec::new();
        let mut stack = vec![(self.entry, successors(self.entry))];
        seen[self.entry.index()] = true;
        while let Some((block, rest)) = stack.last_mut() {
            match rest.next() {
                Some(next) if seen[next.index()] => {}
                Some(next) => {
                    seen[next.index()] = true;
                    stack.push((next, successors(next)));
                }
                None => {
                    postorder.push(*block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        postorder
    }
}
