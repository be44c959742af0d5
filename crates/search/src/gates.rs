//! When each part of the unrolled graph is reached, as terms: all runs that leave the program over
//! some arcs, as one formula.
//!
//! A node is reached if its immediate dominator is, and one of the ways from there leads to it; of
//! that second condition, its gate, nothing before the dominator is part. So the condition for
//! leaving is a conjunction of gates, the branches that every such run takes among them as they are,
//! and a phi chooses by what happened since its node's dominator (Tarjan, "Fast algorithms for
//! solving path problems", JACM 1981; dominators after Cooper, Harvey and Kennedy, "A simple, fast
//! dominance algorithm", 2001).

use crate::SearchError;
use crate::dag::Head;
use crate::unroll::Unrolled;
use slowpath_exec::{AllPaths, ArcId, NodeId, SymbolicState};
use slowpath_smt::TermId;

/// Most arcs that are listed for one gate.
const MAX_ABOUT: usize = 256;

/// Runs that leave the program over some of its exits, all paths together.
pub struct Gated {
    /// Resolves terms of the graph.
    pub paths: AllPaths,
    /// The state behind the end.
    pub state: SymbolicState,
    /// What has to hold for a run to end so, together; the first branches first.
    pub gates: Vec<Gate>,
}

/// A condition for the end to be reached.
#[derive(Clone, Debug)]
pub struct Gate {
    /// 1 bit.
    pub term: TermId,
    /// The arcs out of branches that it is about.
    pub arcs: Vec<ArcId>,
}

/// What is known of a node that is part of the runs.
#[derive(Clone, Copy, Debug)]
struct Reached {
    /// Its immediate dominator; itself for the entry.
    dominator: usize,
    /// Number of dominators above.
    depth: u32,
    /// The condition under which it is reached, where its dominator is.
    gate: TermId,
}

impl Gated {
    /// The runs that take only arcs that are `alive` (by number), and leave; `None` if there are none.
    /// Of a branch of which one way is not alive, the other one's condition counts all the same.
    ///
    /// # Errors
    /// What execution cannot do for all paths at once, and the reason to stop.
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
                // What a limit cut leads nowhere.
                if let Some(arriving) = arriving.get_mut(head) {
                    arriving.push(ArcId::from(number));
                }
            }
        }
        let (reached, about) = (vec![None; nodes + 1], vec![Vec::new(); nodes + 1]);
        let mut gating = Gating { paths: AllPaths::new(), reached, about };
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
        let state = unrolled.executor.meet(NodeId::from(end), &states);
        let mut gates = Vec::new();
        let mut node = end;
        while let Some(Reached { dominator, gate, .. }) = gating.reached[node]
            && node != dominator
        {
            if gate != always {
                gates.push(Gate { term: gate, arcs: std::mem::take(&mut gating.about[node]) });
            }
            node = dominator;
        }
        gates.reverse();
        Ok(Some(Gated { paths: gating.paths, state, gates }))
    }
}

/// Gates under construction.
struct Gating {
    paths: AllPaths,
    reached: Vec<Option<Reached>>,
    /// The arcs out of branches that each node's gate is about.
    about: Vec<Vec<ArcId>>,
}

impl Gating {
    /// Says when a node is reached.
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
        let mut about = Vec::new();
        let mut taken = Vec::with_capacity(arcs.len());
        let mut gate = unrolled.executor.pool.bool(false);
        for &arc in &arcs {
            unrolled.executor.pool.stop().check().map_err(SearchError::Stopped)?;
            let condition = self.taken(unrolled, arc, dominator, &mut about)?;
            gate = unrolled.executor.pool.or(gate, condition);
            taken.push((arc, condition));
        }
        about.sort_unstable();
        about.dedup();
        about.truncate(MAX_ABOUT);
        self.about[node] = about;
        self.paths.arrive(NodeId::from(node), taken);
        self.reached[node] = Some(Reached { dominator, depth, gate });
        Ok(())
    }

    /// When an arc is taken, in runs that come to a dominator of its tail; adds to `about` which
    /// arcs out of branches that depends on.
    fn taken(
        &mut self,
        unrolled: &mut Unrolled,
        arc: ArcId,
        dominator: usize,
        about: &mut Vec<ArcId>,
    ) -> Result<TermId, SearchError> {
        let mut gates = Vec::new();
        let mut node = unrolled.dag[arc].tail.index();
        while node != dominator
            && let Some(reached) = self.reached[node]
        {
            gates.push(reached.gate);
            if about.len() < MAX_ABOUT {
                about.extend(&self.about[node]);
            }
            node = reached.dominator;
        }
        let executor = &mut unrolled.executor;
        // From the first one on, so that arcs have the terms of what they have in common in common.
        let always = executor.pool.bool(true);
        let before = gates.iter().rev().fold(always, |all, &gate| executor.pool.and(all, gate));
        let Some((condition, holds)) = unrolled.dag[arc].condition else { return Ok(before) };
        about.push(arc);
        let condition = self.paths.resolve(executor, condition)?;
        let condition = if holds { condition } else { executor.pool.not(condition) };
        Ok(executor.pool.and(before, condition))
    }

    /// The closest node that dominates both.
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
