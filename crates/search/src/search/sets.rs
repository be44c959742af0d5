//! Sets of paths: what is decided about them, their slowest paths, and how they are split.

use super::{Metric, Search};
use crate::dag::Head;
use crate::open::{Decisions, Open, Status, decide, decisions};
use crate::relax::Ascent;
use slowpath_smt::Solver;
use slowpath_target::{CostVector, Slowness};
use std::collections::BTreeSet;

impl<S: Solver> Search<S> {
    /// Queues an open node with a better bound, if prices of nogoods yield one and it is time to
    /// look for them.
    pub(super) fn tighten(&mut self, open: &Open) -> bool {
        // Prices are signed: costs that could be too large for that are not priced.
        if !self.tactics.relax || self.most[open.component] > i64::MAX as u64 / 8 {
            return false;
        }
        let arcs = self.allowed.len();
        let key = (open.component, open.length);
        let ascent = self.ascents.entry(key).or_insert_with(|| Ascent::new(open.component, arcs));
        if !ascent.is_due() || !self.restrict(open.length, &open.decisions) {
            return false;
        }
        let Some(ascent) = self.ascents.get_mut(&key) else { return false };
        let nogoods = (&mut self.nogoods, open.length);
        let (graph, room) = (self.folded.graph(), &mut self.room);
        let relaxation = &mut ascent.relaxation;
        let stop = self.unrolled.machine.pool.stop();
        relaxation.tighten(graph, &self.allowed, nogoods, room, stop);
        let better = relaxation.bound(graph, &self.allowed, room).is_none_or(|b| b < open.ticks);
        ascent.tried(better);
        if better {
            let Open { length, component, decisions, slowness, .. } = open;
            self.open(*length, *component, decisions.clone(), Some(*slowness));
        }
        better
    }

    /// Queues all paths of a size class, by what no path exceeds: most classes are never looked at.
    pub(super) fn open_class(&mut self, length: u32) {
        let size = (self.metric == Metric::BitRate).then_some(length);
        for component in self.components() {
            let ticks = self.most[component];
            self.serial += 1;
            self.queue.push(Open {
                slowness: self.target.slowness(component, ticks, size),
                length,
                component,
                decisions: None,
                path: Vec::new(),
                cost: CostVector::zero(self.costs.components()),
                ticks,
                serial: self.serial,
            });
        }
    }

    /// Looks for the slowest path of the sets at the front of the queue that have none yet.
    pub(super) fn settle(&mut self) {
        while self.queue.peek().is_some_and(|open| open.path.is_empty()) {
            let Some(open) = self.queue.pop() else { break };
            self.open(open.length, open.component, open.decisions, Some(open.slowness));
        }
    }

    /// Splits an open node so that no part contains a path with all of `arcs`, those in most
    /// nogoods first: what is decided about them decides most.
    pub(super) fn branch(&mut self, open: &Open, mut arcs: Vec<u32>) {
        arcs.sort_by_key(|&arc| (std::cmp::Reverse(self.nogoods.activity(arc)), arc));
        self.split(open, &arcs);
    }

    /// Splits an open node so that only its current path is left out.
    pub(super) fn leave(&mut self, open: &Open) {
        let mut arcs = open.path.clone();
        arcs.retain(|&arc| !self.unrolled.dag.is_only_way(arc));
        self.split(open, &arcs);
    }

    /// Queues the parts of an open node that lack at least one of `arcs`: each forbids one of them
    /// and requires those before it. When it is time to stop, the whole node stays.
    fn split(&mut self, open: &Open, arcs: &[u32]) {
        let required: BTreeSet<u32> =
            decisions(&open.decisions).filter(|d| d.required).map(|d| d.arc).collect();
        let mut before = open.decisions.clone();
        for &arc in arcs.iter().filter(|arc| !required.contains(arc)) {
            if self.unrolled.machine.pool.stop().reason().is_some() {
                self.queue.push(open.clone());
                return;
            }
            let decided = decide(&before, arc, false);
            self.open(open.length, open.component, decided, Some(open.slowness));
            before = decide(&before, arc, true);
        }
    }

    /// Queues a set of paths, unless it is empty. `limit` is a bound on a set that contains it.
    pub(super) fn open(
        &mut self,
        length: u32,
        component: usize,
        decided: Decisions,
        limit: Option<Slowness>,
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
            && let Some(bound) = ascent.relaxation.bound(graph, &self.allowed, &mut self.room)
        {
            ticks = ticks.min(bound);
        }
        let size = (self.metric == Metric::BitRate).then_some(length);
        let slowness = self.target.slowness(component, ticks, size);
        let slowness = limit.map_or(slowness, |limit| limit.min(slowness));
        self.serial += 1;
        let serial = self.serial;
        self.queue.push(Open {
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

    /// Allows the arcs of the paths that a set of decisions leaves for packets of `length` bytes, as
    /// far as single nogoods tell. Returns whether there may be any.
    fn restrict(&mut self, length: u32, decided: &Decisions) -> bool {
        self.status.fill(Status::Free);
        for (arc, &least) in self.nogoods.unit_lengths().iter().enumerate() {
            if least > length {
                self.status[arc] = Status::Forbidden;
            }
        }
        let mut required = Vec::new();
        for decision in decisions(decided) {
            let status = &mut self.status[decision.arc as usize];
            if decision.required {
                if *status == Status::Forbidden {
                    return false;
                }
                *status = Status::Required;
                required.push(decision.arc);
            } else {
                *status = Status::Forbidden;
            }
        }
        if required.iter().any(|&arc| self.status[arc as usize] != Status::Required)
            || !self.nogoods.propagate(&required, length, &mut self.status)
        {
            return false;
        }
        self.allow(&required);
        true
    }

    /// Allows the arcs of paths that take all required arcs: an arc that passes by the tail of a
    /// required one cannot be on such a path, as nodes are in topological order.
    fn allow(&mut self, required: &[u32]) {
        let dag = &self.unrolled.dag;
        // How many required arcs leave nodes before each node.
        let mut before = vec![0u32; dag.nodes.len() + 1];
        for &arc in required {
            before[dag.arcs[arc as usize].tail as usize + 1] += 1;
        }
        for node in 0..dag.nodes.len() {
            before[node + 1] += before[node];
        }
        for (index, arc) in dag.arcs.iter().enumerate() {
            let head = match arc.head {
                Head::Node(node) => node as usize,
                Head::Exit(_) => dag.nodes.len(),
            };
            let passed = before[head.min(dag.nodes.len())] - before[arc.tail as usize];
            self.allowed[index] = match self.status[index] {
                Status::Forbidden => false,
                Status::Required => passed <= 1,
                Status::Free => passed == 0,
            };
        }
    }
}
