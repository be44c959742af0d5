//! The unrolled program as the checker sees it: a graph without cycles, with the cost of each arc.

use slowpath_ir::{BlockId, Program};
use slowpath_smt::TermId;
use slowpath_target::{Context, CostModel, CostVector};
use std::collections::HashMap;

/// An arc of the unrolled program.
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// Node that the arc leaves.
    pub tail: u32,
    /// Node that the arc leads to; `None` if it leaves the program.
    pub head: Option<u32>,
    /// Index of the control-flow edge among the edges of the block's terminator.
    pub edge: usize,
    /// Branch condition, and the value for which a run takes this arc; `None` if every run that
    /// reaches the tail takes it.
    pub condition: Option<(TermId, bool)>,
}

/// A node of the unrolled program.
#[derive(Clone, Debug)]
pub struct Node {
    /// Block of the program of which the node is a copy.
    pub block: BlockId,
    /// Arcs that leave the node.
    pub out: Vec<u32>,
}

/// An unrolled program. Node 0 is the entry; arcs lead to nodes with larger numbers.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All arcs.
    pub arcs: Vec<Arc>,
}

impl Graph {
    /// Checks that arcs lead to nodes with larger numbers, and that all numbers are valid.
    ///
    /// # Errors
    /// Names the first faulty node or arc.
    pub fn check(&self) -> Result<(), String> {
        for (number, node) in self.nodes.iter().enumerate() {
            let tail_is = |&arc: &u32| {
                self.arcs.get(arc as usize).is_some_and(|arc| arc.tail as usize == number)
            };
            if !node.out.iter().all(tail_is) {
                return Err(format!("an arc does not leave node {number}, which lists it"));
            }
            for arc in node.out.iter().map(|&arc| &self.arcs[arc as usize]) {
                let ascends = |head| head > arc.tail && (head as usize) < self.nodes.len();
                if !arc.head.is_none_or(ascends) {
                    return Err(format!("an arc of node {number} does not lead to a later node"));
                }
            }
        }
        Ok(())
    }

    /// Checks that arcs form a path from the entry out of the program.
    ///
    /// # Errors
    /// Names the position of the first arc that does not continue the path.
    pub fn check_path(&self, path: &[u32]) -> Result<(), String> {
        let mut node = Some(0);
        for (position, &arc) in path.iter().enumerate() {
            let here = node.and_then(|node: u32| self.nodes.get(node as usize));
            if !here.is_some_and(|node| node.out.contains(&arc)) {
                return Err(format!("arc {arc} at position {position} does not continue the path"));
            }
            node = self.arcs[arc as usize].head;
        }
        match node {
            None => Ok(()),
            Some(_) => Err("the path does not leave the program".into()),
        }
    }
}

/// A step from a state: the arc, its cost, and the next state (`None` outside the program).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transition {
    pub arc: u32,
    pub cost: CostVector,
    pub next: Option<u32>,
}

/// The states of a priced graph. A state is a node together with the part of the past on which
/// costs depend ([`Context`]).
pub(crate) struct Priced {
    /// Node of each state. States of a node are consecutive, and in the order of nodes.
    pub node: Vec<u32>,
    pub transitions: Vec<Vec<Transition>>,
}

impl Priced {
    /// Prices all arcs that paths from the entry can take.
    pub fn new(graph: &Graph, program: &Program, model: &CostModel) -> Self {
        let mut contexts: Vec<Vec<Context>> = vec![Vec::new(); graph.nodes.len()];
        if let Some(entry) = contexts.first_mut() {
            entry.push(model.start());
        }
        // The next state as a node and the position of a context there, until states have numbers.
        type Pending = (u32, CostVector, Option<(u32, usize)>);
        let mut pending: Vec<Vec<Pending>> = Vec::new();
        let (mut node_of, mut first) = (Vec::new(), Vec::new());
        for (number, node) in graph.nodes.iter().enumerate() {
            first.push(node_of.len());
            let block = program.block(node.block);
            for context in contexts[number].clone() {
                let (mut cost, mut after) = (model.zero(), context);
                for event in &block.costs {
                    after = model.step(after, event.class.0, &mut cost);
                }
                let mut leaving = Vec::with_capacity(node.out.len());
                for &arc in &node.out {
                    let (mut cost, mut after) = (cost, after);
                    let taken = &graph.arcs[arc as usize];
                    let edge = block.terminator.edges().nth(taken.edge);
                    for event in edge.iter().flat_map(|edge| &edge.costs) {
                        after = model.step(after, event.class.0, &mut cost);
                    }
                    let next = taken.head.map(|head| {
                        let known = &mut contexts[head as usize];
                        let at = known.iter().position(|&other| other == after);
                        (
                            head,
                            at.unwrap_or_else(|| {
                                known.push(after);
                                known.len() - 1
                            }),
                        )
                    });
                    leaving.push((arc, cost, next));
                }
                node_of.push(number as u32);
                pending.push(leaving);
            }
        }
        let state = |(head, at): (u32, usize)| (first[head as usize] + at) as u32;
        let transition =
            |(arc, cost, next): Pending| Transition { arc, cost, next: next.map(state) };
        let transitions = pending
            .into_iter()
            .map(|leaving| leaving.into_iter().map(transition).collect())
            .collect();
        Priced { node: node_of, transitions }
    }

    /// Returns the cost of a path, without the fixed cost per packet.
    pub fn path_cost(&self, model: &CostModel, path: &[u32]) -> CostVector {
        let (mut cost, mut state) = (model.zero(), Some(0));
        for &arc in path {
            let leaving = state.map_or(&[][..], |state: u32| &self.transitions[state as usize]);
            let Some(taken) = leaving.iter().find(|transition| transition.arc == arc) else {
                break;
            };
            cost += &taken.cost;
            state = taken.next;
        }
        cost
    }
}

/// For each arc that is asked for, the nodes from which it can be reached.
pub(crate) struct Reach {
    sources: HashMap<u32, Vec<u64>>,
}

impl Reach {
    /// Computes, for each arc of `arcs`, the nodes from which paths lead to it.
    pub fn new(graph: &Graph, arcs: impl Iterator<Item = u32>) -> Self {
        let mut entering: Vec<Vec<u32>> = vec![Vec::new(); graph.nodes.len()];
        for arc in graph.nodes.iter().flat_map(|node| &node.out).map(|&arc| arc as usize) {
            if let Some(head) = graph.arcs[arc].head {
                entering[head as usize].push(graph.arcs[arc].tail);
            }
        }
        let mut sources: HashMap<u32, Vec<u64>> = HashMap::new();
        for arc in arcs {
            sources.entry(arc).or_insert_with(|| {
                let mut found = vec![0u64; graph.nodes.len().div_ceil(64)];
                let mut work = vec![graph.arcs[arc as usize].tail];
                while let Some(node) = work.pop() {
                    let (word, bit) = (node as usize / 64, 1 << (node % 64));
                    if found[word] & bit == 0 {
                        found[word] |= bit;
                        work.extend(&entering[node as usize]);
                    }
                }
                found
            });
        }
        Reach { sources }
    }

    /// Returns true if a path leads from `node` to `arc`, one of the arcs that were asked for.
    pub fn leads(&self, node: u32, arc: u32) -> bool {
        self.sources[&arc][node as usize / 64] >> (node % 64) & 1 == 1
    }
}
