//! Splits sets of paths into smaller sets, rules out arcs in them, and computes their longest
//! paths.

use super::{Metric, Search};
use crate::dag::Head;
use crate::relax::Ascent;
use crate::subproblem::{ArcStatus, Decisions, Subproblem, decide, decisions};
use rustc_hash::FxHashSet;
use slowpath_exec::ArcId;
use slowpath_smt::Solver;
use slowpath_target::{CostVector, Slowness};

impl<S: Solver> Search<S> {
    /// Tries to lower the bound of a subproblem (a set of paths) by raising Lagrange multipliers,
    /// if the schedule permits it. On success, queues the subproblem again with the lower bound and
    /// returns true.
    pub(super) fn tighten(&mut self, subproblem: &Subproblem) -> bool {
        // Reduced costs are signed, so components with very large costs get no multipliers.
        if !self.options.relax || self.most[subproblem.component] > i64::MAX as u64 / 8 {
            return false;
        }
        let arcs = self.allowed.len();
        let key = (subproblem.component, subproblem.length);
        let ascent =
            self.ascents.entry(key).or_insert_with(|| Ascent::new(subproblem.component, arcs));
        if !ascent.is_due() || !self.restrict(subproblem.length, &subproblem.decisions) {
            return false;
        }
        let Some(ascent) = self.ascents.get_mut(&key) else { return false };
        let nogoods = (&mut self.nogoods, subproblem.length);
        let (graph, scratch) = (self.folded.graph(), &mut self.relaxation_scratch);
        let relaxation = &mut ascent.relaxation;
        let stop = self.unrolled.executor.pool.stop();
        relaxation.tighten(graph, &self.allowed, nogoods, scratch, stop);
        let better =
            relaxation.bound(graph, &self.allowed, scratch).is_none_or(|b| b < subproblem.ticks);
        ascent.tried(better);
        if better {
            let Subproblem { length, component, decisions, slowness, .. } = subproblem;
            self.add(*length, *component, decisions.clone(), Some(*slowness), None);
        }
        better
    }

    /// Queues the set of all paths for packets of at least `length` bytes: one entry for each
    /// component, with a coarse upper bound. Most of these entries never need a better bound.
    pub(super) fn add_class(&mut self, length: u32) {
        let size = (self.metric == Metric::BitRate).then_some(length);
        for component in self.components() {
            let ticks = self.most[component];
            let slowness = self.target.slowness(component, ticks, size);
            self.add_coarse(length, component, None, (slowness, ticks));
        }
    }

    /// Queues a set of paths before its longest path is known; that path is computed when the set
    /// reaches the front of the queue. The pair contains upper bounds for the slowness of the set's
    /// paths, and for their cost in ticks.
    fn add_coarse(
        &mut self,
        length: u32,
        component: usize,
        decisions: Decisions,
        (slowness, ticks): (Slowness, u64),
    ) {
        self.serial += 1;
        self.queue.push(Subproblem {
            slowness,
            length,
            component,
            decisions,
            path: Vec::new(),
            cost: CostVector::zero(self.costs.components()),
            ticks,
            serial: self.serial,
        });
    }

    /// Computes the longest paths of subproblems (sets of paths) until that of the subproblem at
    /// the front of the queue is known.
    pub(super) fn bound_front(&mut self) {
        while self.queue.peek().is_some_and(|subproblem| subproblem.path.is_empty()) {
            let Some(subproblem) = self.queue.pop() else { break };
            self.add(
                subproblem.length,
                subproblem.component,
                subproblem.decisions,
                Some(subproblem.slowness),
                Some(subproblem.serial),
            );
        }
    }

    /// Splits a subproblem so that no part contains a path with all of `arcs`. Arcs that occur in
    /// many nogoods come first, because they have the greatest effect.
    pub(super) fn branch(&mut self, subproblem: &Subproblem, mut arcs: Vec<ArcId>) {
        arcs.sort_by_key(|&arc| (std::cmp::Reverse(self.nogoods.activity(arc)), arc));
        let &Subproblem { length, component, slowness, .. } = subproblem;
        self.split(subproblem, &arcs, |search, _, decided| {
            search.add(length, component, decided, Some(slowness), None);
        });
    }

    /// Splits a subproblem into parts that together contain all its paths except its longest path.
    ///
    /// Each part has the paths that leave the longest path at one of its nodes. They share the part
    /// of the longest path before this node, so the longest continuation that leaves there bounds
    /// their cost. Two passes over the graph yield the bounds of all parts (Lawler, "A procedure
    /// for computing the K best solutions to discrete optimization problems", Management Science
    /// 1972; here with lazy evaluation).
    pub(super) fn leave(&mut self, subproblem: &Subproblem) {
        let &Subproblem { length, component, .. } = subproblem;
        if !self.restrict(length, &subproblem.decisions) {
            return;
        }
        let (graph, path) = (self.folded.graph(), &subproblem.path);
        let leaving = graph.longest_leaving(component, &self.allowed, path, &mut self.scratch);
        let ways = path.iter().copied().zip(leaving);
        let (arcs, bounds): (Vec<ArcId>, Vec<Option<u64>>) =
            ways.filter(|&(arc, _)| !self.unrolled.dag.is_only_way(arc)).unzip();
        let size = (self.metric == Metric::BitRate).then_some(length);
        self.split(subproblem, &arcs, |search, index, decided| {
            let Some(ticks) = bounds[index] else { return };
            let ticks = ticks.min(subproblem.ticks);
            let slowness = search.target.slowness(component, ticks, size);
            let bound = (slowness.min(subproblem.slowness), ticks);
            search.add_coarse(length, component, decided, bound);
        });
    }

    /// Splits a subproblem into parts whose paths lack at least one of `arcs`: each part forbids
    /// one of the arcs and requires the arcs before it. Calls `add` with the index of the forbidden
    /// arc and the decisions of each part. If the stop condition holds, queues the undivided
    /// subproblem too.
    fn split(
        &mut self,
        subproblem: &Subproblem,
        arcs: &[ArcId],
        add: impl Fn(&mut Self, usize, Decisions),
    ) {
        let required: FxHashSet<ArcId> =
            decisions(&subproblem.decisions).filter(|d| d.required).map(|d| d.arc).collect();
        let mut before = subproblem.decisions.clone();
        let parts = arcs.iter().enumerate();
        for (index, &arc) in parts.filter(|(_, arc)| !required.contains(arc)) {
            if self.unrolled.executor.pool.stop().reason().is_some() {
                self.queue.push(subproblem.clone());
                return;
            }
            add(self, index, decide(&before, arc, false));
            before = decide(&before, arc, true);
        }
    }

    /// Computes the longest path of a set of paths, and adds the set to the queue unless it is
    /// empty. `limit` is the bound of a larger set that contains this set. `serial` is the serial
    /// number of the set if it was in the queue before.
    pub(super) fn add(
        &mut self,
        length: u32,
        component: usize,
        decided: Decisions,
        limit: Option<Slowness>,
        serial: Option<u64>,
    ) {
        if !self.restrict(length, &decided) {
            return;
        }
        let graph = self.folded.graph();
        let found = graph.longest(component, &self.allowed, &mut self.scratch);
        let Some((_, path)) = found else { return };
        let cost = graph.path_cost(&path);
        let mut ticks = cost[component];
        if let Some(ascent) = self.ascents.get(&(component, length))
            && let Some(bound) =
                ascent.relaxation.bound(graph, &self.allowed, &mut self.relaxation_scratch)
        {
            ticks = ticks.min(bound);
        }
        let size = (self.metric == Metric::BitRate).then_some(length);
        let slowness = self.target.slowness(component, ticks, size);
        let slowness = limit.map_or(slowness, |limit| limit.min(slowness));
        let serial = serial.unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        self.queue.push(Subproblem {
            slowness,
            length,
            component,
            decisions: decided,
            path,
            cost,
            ticks,
            serial,
        });
    }

    /// Determines the arcs that packets of `length` bytes can take on paths that agree with
    /// `decided`, and stores the status of each arc. Considers one nogood at a time. Returns false
    /// if no path can remain.
    fn restrict(&mut self, length: u32, decided: &Decisions) -> bool {
        self.status.fill(ArcStatus::Free);
        for (arc, &least) in self.nogoods.unit_lengths().iter().enumerate() {
            if least > length {
                self.status[arc] = ArcStatus::Forbidden;
            }
        }
        let mut required = Vec::new();
        for decision in decisions(decided) {
            let status = &mut self.status[decision.arc.index()];
            if decision.required {
                if *status == ArcStatus::Forbidden {
                    return false;
                }
                *status = ArcStatus::Required;
                required.push(decision.arc);
            } else {
                *status = ArcStatus::Forbidden;
            }
        }
        if required.iter().any(|&arc| self.status[arc.index()] != ArcStatus::Required)
            || !self.nogoods.propagate(&required, length, &mut self.status)
        {
            return false;
        }
        self.allow(&required);
        true
    }

    /// Allows exactly the arcs that can be on a path with all required arcs. This excludes arcs
    /// that skip the tail of a required arc, because nodes are in topological order.
    fn allow(&mut self, required: &[ArcId]) {
        let dag = &self.unrolled.dag;
        // Number of required arcs whose tail comes before each node.
        let mut before = vec![0u32; dag.nodes.len() + 1];
        for &arc in required {
            before[dag[arc].tail.index() + 1] += 1;
        }
        for node in 0..dag.nodes.len() {
            before[node + 1] += before[node];
        }
        for (index, arc) in dag.arcs.iter().enumerate() {
            let head = match arc.head {
                Head::Node(node) => node.index(),
                Head::Exit(_) => dag.nodes.len(),
            };
            let passed = before[head.min(dag.nodes.len())] - before[arc.tail.index()];
            self.allowed[index] = match self.status[index] {
                ArcStatus::Forbidden => false,
                ArcStatus::Required => passed <= 1,
                ArcStatus::Free => passed == 0,
            };
        }
    }
}
