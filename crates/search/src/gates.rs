//! Computes one formula for all runs that leave the program over certain exit arcs.
//!
//! A run reaches a node if it reaches the node's immediate dominator and then takes a path from
//! there to the node. The second condition is called the node's gate. It does not depend on
//! anything before the dominator, so the condition for an exit is a conjunction of gates. Branches
//! that every such run takes appear in it unchanged. The value of a phi depends only on the path
//! since the dominator of its node (Tarjan, "Fast algorithms for solving path problems", JACM 1981;
//! dominators after Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", 2001).

use crate::SearchError;
use crate::dag::Head;
use crate::unroll::Unrolled;
use slowpath_exec::{AllPaths, ArcId, NodeId, SymbolicState};
use slowpath_smt::TermId;

/// Maximum number of branch arcs that are listed for one gate (the condition for reaching a node
/// from its immediate dominator).
const MAX_ABOUT: usize = 256;

/// All runs that leave the program over certain exits, merged into one formula.
pub struct Gated {
    /// Resolver that computes values of terms for all merged runs together.
    pub paths: AllPaths,
    /// Symbolic state of registers and memory at the exits, merged over all runs that reach one of
    /// them.
    pub state: SymbolicState,
    /// Conditions that together mean that a run leaves over one of the exits, in program order.
    pub gates: Vec<Gate>,
}

/// One of the conditions that a run must satisfy to reach the exits.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The condition as a 1-bit term over inputs.
    pub term: TermId,
    /// Branch arcs that the condition depends on; at most 256 are listed.
    pub arcs: Vec<ArcId>,
}

/// The immediate dominator of a node, and the node's gate: the condition for reaching the node from
/// there.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// Index of the immediate dominator; for the entry node, its own index.
    dominator: usize,
    /// Number of other nodes that dominate this node.
    depth: u32,
    /// Condition under which a run reaches the node, if it reaches the dominator.
    gate: TermId,
}

impl Gated {
    /// Merges the runs that leave the program and take only arcs with a true entry in `alive`.
    /// Returns `None` if no such runs exist. If only one arc of a branch is alive, the condition
    /// for taking this arc still applies.
    ///
    /// # Errors
    ///
    /// Fails if execution cannot handle all paths at once, or if the stop condition holds.
    pub fn of(unrolled: &mut Unrolled, alive: &[bool]) -> Result<Option<Gated>, SearchError> {
        let nodes = unrolled.dag.nodes.len();
        let end = nodes;
        let mut arriving: Vec<Vec<ArcId>> = vec![Vec::new(); nodes + 1];
        for (number, arc) in unrolled.dag.arcs.iter().enumerate() {
            if alive.get(number).copied().unwrap_or_default() {
                let head = match arc.head {
                    Head::Node(node) => node.index(),
                    Head::Exit(_) => end,
                };
                // Arcs cut by a loop limit have no target.
                if let Some(arriving) = arriving.get_mut(head) {
                    arriving.push(ArcId::from(number));
                }
            }
        }
        let (reached, branch_arcs) = (vec![None; nodes + 1], vec![Vec::new(); nodes + 1]);
        let mut gating = GateBuilder { paths: AllPaths::new(), reached, branch_arcs };
        let always = unrolled.executor.pool.bool(true);
        gating.reached[0] = Some(Reached { dominator: 0, depth: 0, gate: always });
        for (node, arcs) in arriving.into_iter().enumerate().skip(1) {
            gating.reach(unrolled, node, arcs)?;
        }
        if gating.reached[end].is_none() {
            return Ok(None);
        }
        let exits = std::mem::take(&mut unrolled.exits);
        let is_alive = |(arc, _): &&(ArcId, SymbolicState)| alive[arc.index()];
        let states: Vec<(ArcId, SymbolicState)> = exits.iter().filter(is_alive).cloned().collect();
        unrolled.exits = exits;
        let state = unrolled.executor.merge_exits(NodeId::from(end), &states);
        let mut gates = Vec::new();
        let mut node = end;
        while let Some(Reached { dominator, gate, .. }) = gating.reached[node]
            && node != dominator
        {
            if gate != always {
                gates
                    .push(Gate { term: gate, arcs: std::mem::take(&mut gating.branch_arcs[node]) });
            }
            node = dominator;
        }
        gates.reverse();
        Ok(Some(Gated { paths: gating.paths, state, gates }))
    }
}

/// State while the gates (conditions for reaching a node from its immediate dominator) are
/// computed, node by node.
struct GateBuilder {
    paths: AllPaths,
    reached: Vec<Option<Reached>>,
    /// Branch arcs that the gate of each node depends on.
    branch_arcs: Vec<Vec<ArcId>>,
}

impl GateBuilder {
    /// Computes the immediate dominator and the gate of a node from its incoming arcs.
    fn reach(
        &mut self,
        unrolled: &mut Unrolled,
        node: usize,
        mut arcs: Vec<ArcId>,
    ) -> Result<(), SearchError> {
        let tail = |arc: ArcId| unrolled.dag[arc].tail.index();
        arcs.retain(|&arc| self.reached[tail(arc)].is_some());
        let Some((&first, others)) = arcs.split_first() else { return Ok(()) };
        let dominator = others.iter().fold(tail(first), |meet, &arc| self.common(meet, tail(arc)));
        let depth = self.reached[dominator].map_or(0, |above| above.depth) + 1;
        let mut branch_arcs = Vec::new();
        let mut taken = Vec::with_capacity(arcs.len());
        let mut gate = unrolled.executor.pool.bool(false);
        for &arc in &arcs {
            unrolled.executor.pool.stop().check().map_err(SearchError::Stopped)?;
            let condition = self.taken(unrolled, arc, dominator, &mut branch_arcs)?;
            gate = unrolled.executor.pool.or(gate, condition);
            taken.push((arc, condition));
        }
        branch_arcs.sort_unstable();
        branch_arcs.dedup();
        branch_arcs.truncate(MAX_ABOUT);
        self.branch_arcs[node] = branch_arcs;
        self.paths.arrive(NodeId::from(node), taken);
        self.reached[node] = Some(Reached { dominator, depth, gate });
        Ok(())
    }

    /// Returns the condition under which a run takes an arc if it reaches `dominator`, a dominator
    /// of the arc's tail. Adds the branch arcs that the condition depends on to `branch_arcs`.
    fn taken(
        &mut self,
        unrolled: &mut Unrolled,
        arc: ArcId,
        dominator: usize,
        branch_arcs: &mut Vec<ArcId>,
    ) -> Result<TermId, SearchError> {
        let mut gates = Vec::new();
        let mut node = unrolled.dag[arc].tail.index();
        while node != dominator
            && let Some(reached) = self.reached[node]
        {
            gates.push(reached.gate);
            if branch_arcs.len() < MAX_ABOUT {
                branch_arcs.extend(&self.branch_arcs[node]);
            }
            node = reached.dominator;
        }
        let executor = &mut unrolled.executor;
        // Conjunctions start at the dominator, so arcs share the terms of their common prefix.
        let always = executor.pool.bool(true);
        let before = gates.iter().rev().fold(always, |all, &gate| executor.pool.and(all, gate));
        let Some((condition, holds)) = unrolled.dag[arc].condition else { return Ok(before) };
        branch_arcs.push(arc);
        let condition = self.paths.resolve(executor, condition)?;
        let condition = if holds { condition } else { executor.pool.not(condition) };
        Ok(executor.pool.and(before, condition))
    }

    /// Returns the closest node that dominates both nodes.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let depth = |node: usize| self.reached[node].map_or(0, |reached| reached.depth);
            if depth(a) < depth(b) {
                std::mem::swap(&mut a, &mut b);
            }
            a = self.reached[a].map_or(0, |reached| reached.dominator);
        }
        a
    }
}
