//! The cost automaton, a graph from which the exact cost of every path can be computed.
//!
//! The cost of an operation may depend on earlier ones, for example on the last memory access. The
//! part of the past that matters is called the context. A state of the automaton is a node of the
//! unrolled program together with a context. Contexts are few, and each step from a state has a
//! constant cost. The longest path through the states is therefore exact. The paper "throughput
//! guarantees" over-estimates the costs of edges instead (§ 5.2 "Edge Costs"), and corrects the
//! estimate later.

use crate::dag::{Arc, Dag, Head};
use slowpath_exec::{ArcId, NodeId};
use slowpath_ir::Program;
use slowpath_target::{Context, CostModel, CostVector};

/// Value that stands for the target of transitions that leave the program, in place of a state
/// index.
pub(crate) const EXIT: u32 = u32::MAX;

/// A step from one state of the cost automaton to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transition {
    /// Arc of the unrolled program that the transition follows.
    pub arc: ArcId,
    /// State that the transition leads to.
    pub next: u32,
    /// Index of a transition of the cost graph that has the same cost as this transition.
    pub cost: u32,
}

/// The unrolled program as a graph of states and transitions, with the exact cost of each
/// transition. A state is a node of the program together with the part of the past that affects
/// costs.
#[derive(Clone, Debug)]
pub struct CostGraph {
    /// Index of each state's first transition, in topological order of states. A last additional
    /// entry contains the number of transitions.
    first: Vec<u32>,
    /// Arc of the unrolled program that each transition follows.
    arcs: Vec<ArcId>,
    /// Target state of each transition; [`EXIT`] if it leaves the program.
    next: Vec<u32>,
    /// For each component, the cost of each transition in ticks.
    costs: Vec<Vec<u64>>,
    overhead: CostVector,
}

/// Memory for computing longest paths, which is reused between calls to avoid allocations.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    best: Vec<u64>,
    choice: Vec<u32>,
}

/// A state: a node of the unrolled program, and the index of a context (the part of the past that
/// affects costs) in which runs reach the node.
type ContextOf = (NodeId, u32);

/// Cost that marks a state from which no exit can be reached.
const UNREACHABLE: u64 = u64::MAX;

impl CostGraph {
    /// Computes the cost of every arc of the unrolled program, in every cost context in which a run
    /// can reach the arc.
    pub fn new(dag: &Dag, program: &Program, model: &CostModel) -> Self {
        let mut contexts: Vec<Vec<Context>> = vec![Vec::new(); dag.nodes.len()];
        let mut transitions: Vec<(ArcId, Option<ContextOf>, CostVector)> = Vec::new();
        let mut first = Vec::new();
        let mut first_of_node = Vec::with_capacity(dag.nodes.len());
        if let Some(entry) = contexts.first_mut() {
            entry.push(model.start());
        }
        // Arcs lead to nodes with larger numbers, so all contexts of a node are known when the loop
        // reaches it. States are numbered node by node and thus in topological order.
        for (index, node) in dag.nodes.iter().enumerate() {
            first_of_node.push(first.len() as u32);
            let block = program.block(node.block);
            for context in contexts[index].clone() {
                first.push(transitions.len() as u32);
                let mut spent = model.zero();
                let mut inside = context;
                for event in &block.costs {
                    inside = model.step(inside, event.class.0, &mut spent);
                }
                for &arc in &node.out {
                    let Arc { head, edge, .. } = dag[arc];
                    let (mut cost, mut after) = (spent, inside);
                    let events = block.terminator.edges().nth(edge).map(|edge| &edge.costs);
                    for event in events.into_iter().flatten() {
                        after = model.step(after, event.class.0, &mut cost);
                    }
                    let next = match head {
                        Head::Exit(_) => None,
                        Head::Node(to) => Some((to, position_of(&mut contexts[to.index()], after))),
                    };
                    transitions.push((arc, next, cost));
                }
            }
        }
        first.push(transitions.len() as u32);
        // Target states have numbers only after all nodes were visited.
        let next = transitions.iter().map(|&(_, next, _)| match next {
            None => EXIT,
            Some((node, position)) => first_of_node[node.index()] + position,
        });
        let cost_of =
            |component| transitions.iter().map(|transition| transition.2[component]).collect();
        CostGraph {
            next: next.collect(),
            arcs: transitions.iter().map(|transition| transition.0).collect(),
            costs: (0..model.components()).map(cost_of).collect(),
            overhead: model.overhead(),
            first,
        }
    }

    /// Creates a cost graph for a single component, without a fixed cost per packet. The arguments
    /// become the fields of the same names; `cost` contains the cost of each transition in ticks.
    #[cfg(test)]
    pub(crate) fn of_parts(
        first: Vec<u32>,
        arcs: Vec<ArcId>,
        next: Vec<u32>,
        cost: Vec<u64>,
    ) -> Self {
        CostGraph { first, arcs, next, costs: vec![cost], overhead: CostVector::zero(1) }
    }

    /// Returns the number of states of the graph. A state is a node of the unrolled program
    /// together with the part of the past that affects costs.
    pub fn states(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the number of components, such as processor or memory, that have separate costs.
    pub fn components(&self) -> usize {
        self.costs.len()
    }

    /// Creates a graph with new states and transitions. The field `cost` of each new transition is
    /// the index of a transition of this graph that has the same cost.
    pub(crate) fn with_states(&self, first: Vec<u32>, transitions: &[Transition]) -> CostGraph {
        let cost_of =
            |costs: &Vec<u64>| transitions.iter().map(|s| costs[s.cost as usize]).collect();
        CostGraph {
            first,
            arcs: transitions.iter().map(|transition| transition.arc).collect(),
            next: transitions.iter().map(|transition| transition.next).collect(),
            costs: self.costs.iter().map(cost_of).collect(),
            overhead: self.overhead,
        }
    }

    pub(crate) fn transition(&self, transition: usize) -> Transition {
        Transition {
            arc: self.arcs[transition],
            next: self.next[transition],
            cost: transition as u32,
        }
    }

    pub(crate) fn cost(&self, component: usize, transition: usize) -> u64 {
        self.costs[component][transition]
    }

    /// Returns the fixed cost in ticks that each packet has on a component, independent of its
    /// path.
    pub(crate) fn overhead(&self, component: usize) -> u64 {
        self.overhead[component]
    }

    pub(crate) fn transitions(&self, state: usize) -> std::ops::Range<usize> {
        self.first[state] as usize..self.first[state + 1] as usize
    }

    /// Returns the path with the highest cost on `component` among the paths that use only allowed
    /// arcs, with its cost in ticks. Returns `None` if these arcs reach no exit. The cost includes
    /// the fixed cost per packet. Takes time linear in the number of states and transitions.
    pub fn longest(
        &self,
        component: usize,
        allowed: &[bool],
        scratch: &mut Scratch,
    ) -> Option<(u64, Vec<ArcId>)> {
        let Scratch { best, choice } = scratch;
        best.clear();
        best.resize(self.states(), UNREACHABLE);
        choice.clear();
        choice.resize(self.states(), 0);
        let costs = &self.costs[component];
        for state in (0..self.states()).rev() {
            for transition in self.transitions(state) {
                if !allowed[self.arcs[transition].index()] {
                    continue;
                }
                let rest = match self.next[transition] {
                    // An exit has no further cost. The caller adds the overhead once for the whole
                    // path.
                    EXIT => 0,
                    next => best[next as usize],
                };
                if rest == UNREACHABLE {
                    continue;
                }
                // A saturated cost must differ from the marker for states without a reachable exit.
                let total = costs[transition].saturating_add(rest).min(UNREACHABLE - 1);
                // The first of several equally long paths wins, so results are reproducible.
                if best[state] == UNREACHABLE || total > best[state] {
                    (best[state], choice[state]) = (total, transition as u32);
                }
            }
        }
        let total = *best.first().filter(|&&total| total != UNREACHABLE)?;
        let mut path = Vec::new();
        let mut state = 0;
        while state != EXIT {
            let transition = choice[state as usize] as usize;
            path.push(self.arcs[transition]);
            state = self.next[transition];
        }
        Some((total.saturating_add(self.overhead[component]), path))
    }

    /// Returns, for each arc of a path, the highest cost in ticks on `component` of any path that
    /// leaves the given path just before this arc. After the common part, these paths use only
    /// allowed arcs. An entry is `None` if no path leaves there. Costs include the fixed cost per
    /// packet. Takes time linear in the number of states and transitions.
    pub(crate) fn longest_leaving(
        &self,
        component: usize,
        allowed: &[bool],
        path: &[ArcId],
        scratch: &mut Scratch,
    ) -> Vec<Option<u64>> {
        self.longest(component, allowed, scratch);
        let costs = &self.costs[component];
        let (mut state, mut spent) = (0, self.overhead[component]);
        let mut leaving = Vec::with_capacity(path.len());
        for &arc in path {
            let (mut most, mut onward) = (None, None);
            for transition in self.transitions(state) {
                let own = self.arcs[transition];
                if own == arc {
                    onward = Some(transition);
                } else if allowed[own.index()] {
                    let rest = match self.next[transition] {
                        EXIT => 0,
                        next => scratch.best[next as usize],
                    };
                    if rest != UNREACHABLE {
                        let total = spent.saturating_add(costs[transition]).saturating_add(rest);
                        most = most.max(Some(total));
                    }
                }
            }
            leaving.push(most);
            let Some(transition) = onward else { break };
            spent = spent.saturating_add(costs[transition]);
            match self.next[transition] {
                EXIT => break,
                next => state = next as usize,
            }
        }
        // The graph lacks the rest of the path, so nothing is known about it.
        leaving.resize(path.len(), Some(u64::MAX));
        leaving
    }

    /// Returns, for each arc, the highest cost in ticks on `component` of the rest of a path, from
    /// this arc to an exit. `arcs` is the number of arcs.
    pub(crate) fn max_cost_from(
        &self,
        component: usize,
        arcs: usize,
        scratch: &mut Scratch,
    ) -> Vec<u64> {
        self.longest(component, &vec![true; arcs], scratch);
        let mut behind = vec![0u64; arcs];
        for (transition, &arc) in self.arcs.iter().enumerate() {
            let rest = match self.next[transition] {
                EXIT => 0,
                next => scratch.best[next as usize],
            };
            // States where a limit cut a loop may not reach any exit.
            if rest != UNREACHABLE {
                let total = self.costs[component][transition].saturating_add(rest);
                behind[arc.index()] = behind[arc.index()].max(total);
            }
        }
        behind
    }

    /// Returns the cost of a complete path on all components, including the fixed cost per packet.
    pub fn path_cost(&self, path: &[ArcId]) -> CostVector {
        let mut cost = self.overhead;
        let mut state = 0;
        for &arc in path {
            let Some(transition) =
                self.transitions(state).find(|&transition| self.arcs[transition] == arc)
            else {
                break;
            };
            for component in 0..self.components() {
                cost.add(component, self.costs[component][transition]);
            }
            match self.next[transition] {
                EXIT => break,
                next => state = next as usize,
            }
        }
        cost
    }
}

fn position_of(contexts: &mut Vec<Context>, context: Context) -> u32 {
    let known = contexts.iter().position(|&other| other == context);
    known.unwrap_or_else(|| {
        contexts.push(context);
        contexts.len() - 1
    }) as u32
}
