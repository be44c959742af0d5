//! The control-flow graph: reachable blocks in reverse postorder and the nesting of loops.
//!
//! A loop is a strongly connected part of the graph with a single entry block, its header
//! (Havlak, "Nesting of reducible and irreducible loops", TOPLAS 1997). Graphs with loops that
//! have several entries are refused; no compiler that the front ends know emits them.

use crate::{BlockId, LoopId, Program, Target};
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
                    Target::Block(next) => Some(next.index()),
                    Target::Exit(_) => None,
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
        for (index, &block) in order.iter().enumerate() {
            position[block] = index;
        }
        let whole: Vec<usize> = order.clone();
        graph.find_loops(program, &successors, &position, &whole, None, None)?;
        Ok(graph)
    }

    /// Finds the loops among `blocks` (in reverse postorder) when `cut`, the header of the loop
    /// around them, is left out as a target.
    fn find_loops(
        &mut self,
        program: &Program,
        successors: &[Vec<usize>],
        position: &[usize],
        blocks: &[usize],
        cut: Option<usize>,
        parent: Option<LoopId>,
    ) -> Result<(), FlowError> {
        for component in components(successors, blocks, cut) {
            let first = component[0];
            let cyclic =
                component.len() > 1 || (successors[first].contains(&first) && Some(first) != cut);
            if !cyclic {
                continue;
            }
            let mut inside = vec![false; successors.len()];
            component.iter().for_each(|&b| inside[b] = true);
            let mut members = component;
            members.sort_by_key(|&b| position[b]);
            let header = members[0];
            let entered_elsewhere = |target: usize| {
                let from_outside = |&b: &usize| !inside[b] && successors[b].contains(&target);
                self.order.iter().map(|b| b.index()).any(|b| from_outside(&b))
            };
            if let Some(&other) = members[1..].iter().find(|&&b| entered_elsewhere(b)) {
                return Err(FlowError::Irreducible {
                    header: program.blocks[header].first.0,
                    other: program.blocks[other].first.0,
                });
            }
            let id = LoopId::from(self.loops.len());
            members.iter().for_each(|&b| self.innermost[b] = Some(id));
            self.loops.push(Loop {
                header: BlockId::from(header),
                blocks: members.iter().map(|&b| BlockId::from(b)).collect(),
                parent,
            });
            self.find_loops(program, successors, position, &members, Some(header), Some(id))?;
        }
        Ok(())
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

/// Strongly connected components of the graph restricted to `blocks` without the edges into
/// `cut` (Tarjan, iterative).
fn components(successors: &[Vec<usize>], blocks: &[usize], cut: Option<usize>) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut allowed = vec![false; successors.len()];
    blocks.iter().for_each(|&b| allowed[b] = true);
    let mut number = vec![NEW; successors.len()];
    let mut low = vec![0; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut stack, mut result, mut counter) = (Vec::new(), Vec::new(), 0);
    for &root in blocks {
        if number[root] != NEW {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((block, next)) = work.pop() {
            if next == 0 {
                number[block] = counter;
                low[block] = counter;
                counter += 1;
                stack.push(block);
                on_stack[block] = true;
            } else {
                let child = successors[block][next - 1];
                if allowed[child] && Some(child) != cut && on_stack[child] {
                    low[block] = low[block].min(low[child]);
                }
            }
            let rest = successors[block][next..].iter().position(|&target| {
                allowed[target]
                    && Some(target) != cut
                    && (number[target] == NEW || on_stack[target])
            });
            if let Some(offset) = rest {
                let target = successors[block][next + offset];
                work.push((block, next + offset + 1));
                if number[target] == NEW {
                    work.push((target, 0));
                }
            } else if low[block] == number[block] {
                let start = stack.iter().position(|&b| b == block).unwrap_or(0);
                let component = stack.split_off(start);
                component.iter().for_each(|&b| on_stack[b] = false);
                result.push(component);
            }
        }
    }
    result
}
