//! Longest path modulo nogoods: conflict-directed branch and bound, best bound first.
//!
//! Every open node is a set of paths with the exact cost of its slowest path as bound. The slowest
//! open path of all is checked; if no packet takes it, the reason becomes a nogood, which every
//! other set of paths profits from, and the set is split along the nogood's arcs. So the bound
//! falls monotonically, is valid at any time, and is exact when a checked path is satisfiable.
//!
//! Components and minimum packet sizes are several objectives over one store of nogoods
//! ("throughput guarantees", § 5.3 and 5.4): a size class with least length `s` bounds bit rates by
//! cost / `s` over the paths that no nogood rules out for packets of `s` bytes. Classes appear as
//! size lemmas are found, and all of them compete in one queue.

use crate::SearchError;
use crate::check::{PathChecker, Verdict};
use crate::costs::{CostGraph, Scratch};
use crate::dag::Head;
use crate::fold::Folded;
use crate::nogood::{ANY_LENGTH, Nogood, Nogoods};
use crate::open::{Decisions, Open, Status, decide, decisions};
use crate::unroll::Unrolled;
use slowpath_smt::{Model, Solver, TermId};
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::{BTreeSet, BinaryHeap, HashSet};
use std::ops::Range;

/// What is to be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Packets per second.
    PacketRate,
    /// Bits per second at the shortest packet that takes a path.
    BitRate,
    /// Work on one component per packet, whatever the others have to do.
    Component(usize),
}

impl Metric {
    /// The components that decide what is slowest, of so many that there are.
    fn components(self, all: usize) -> Range<usize> {
        match self {
            Metric::PacketRate | Metric::BitRate => 0..all,
            Metric::Component(component) => component..component + 1,
        }
    }
}

/// A path that some packet takes.
#[derive(Debug)]
pub struct FoundPath {
    /// Its arcs.
    pub path: Vec<u32>,
    /// Its cost, overhead included.
    pub cost: CostVector,
    /// The length of the shortest packet that takes it, in bytes.
    pub length: u32,
    /// A packet and environment that take it.
    pub model: Model,
    /// Its branch conditions over inputs.
    pub conditions: Vec<TermId>,
}

/// A bound: nothing that is left to search is slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Seconds per packet or per byte.
    pub slowness: Slowness,
    /// The component that it is on.
    pub component: usize,
    /// The packet length that it holds for, in bytes (least of its size class).
    pub length: u32,
    /// The cost of the path behind it, overhead included.
    pub cost: CostVector,
    /// That path; no packet needs to take it.
    pub path: Vec<u32>,
}

/// What one step of the search brought.
#[derive(Debug)]
pub enum Event {
    /// Nothing to report yet.
    Working,
    /// A tighter bound on the paths that are not found yet.
    Bound(Bound),
    /// The next slowest satisfiable path.
    Path(Box<FoundPath>),
    /// There are no further paths.
    Complete,
    /// A path could neither be found possible nor impossible; the bound stays.
    GaveUp(String),
}

/// Counters of one search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Paths looked at.
    pub candidates: u64,
    /// Paths found possible.
    pub satisfiable: u64,
    /// Paths found impossible (for their packet size).
    pub unsatisfiable: u64,
}

/// The search for the slowest satisfiable paths of one program.
pub struct Search<S> {
    unrolled: Unrolled,
    /// Costs of all paths.
    costs: CostGraph,
    /// Costs of paths without the nogoods that are folded in.
    folded: Folded,
    target: Target,
    metric: Metric,
    checker: PathChecker<S>,
    nogoods: Nogoods,
    queue: BinaryHeap<Open>,
    classes: BTreeSet<u32>,
    max_packet: u32,
    /// Paths found so far.
    known: HashSet<Vec<u32>>,
    /// The tightest bound so far: classes that open late start with looser ones.
    tightest: Option<Bound>,
    statistics: Statistics,
    serial: u64,
    scratch: Scratch,
    status: Vec<Status>,
    allowed: Vec<bool>,
    stuck: Option<String>,
}

impl<S: Solver> Search<S> {
    /// Prepares the search: prices all arcs and computes the first bounds.
    ///
    /// `packets` is the least and greatest length of a packet in bytes.
    pub fn new(
        unrolled: Unrolled,
        model: &CostModel,
        target: Target,
        metric: Metric,
        packets: (u32, u32),
        solver: S,
    ) -> Self {
        let costs = CostGraph::new(&unrolled.dag, unrolled.machine.program(), model);
        let lengths: Vec<u32> = unrolled.dag.arcs.iter().map(|arc| arc.min_length).collect();
        let mut classes = BTreeSet::new();
        match metric {
            Metric::PacketRate | Metric::Component(_) => {
                classes.insert(packets.1);
            }
            Metric::BitRate => {
                classes.insert(packets.0);
                classes.extend(lengths.iter().filter(|&&l| l > packets.0 && l <= packets.1));
            }
        }
        let arcs = lengths.len();
        let mut search = Search {
            folded: Folded::new(costs.clone()),
            costs,
            target,
            metric,
            checker: PathChecker::new(solver, packets.0),
            nogoods: Nogoods::new(lengths),
            queue: BinaryHeap::new(),
            classes: classes.clone(),
            max_packet: packets.1,
            known: HashSet::new(),
            tightest: None,
            statistics: Statistics::default(),
            serial: 0,
            scratch: Scratch::default(),
            status: vec![Status::Free; arcs],
            allowed: vec![false; arcs],
            stuck: None,
            unrolled,
        };
        for length in classes {
            search.open_class(length);
        }
        search
    }

    /// The unrolled program.
    pub fn unrolled(&self) -> &Unrolled {
        &self.unrolled
    }

    /// The path checker with its solver.
    pub fn checker_mut(&mut self) -> &mut PathChecker<S> {
        &mut self.checker
    }

    /// Counters so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The number of nogoods learnt.
    pub fn nogoods(&self) -> usize {
        self.nogoods.len()
    }

    /// What the solver did.
    pub fn solver(&self) -> &S {
        self.checker.solver()
    }

    /// The bound on all paths that have not been found yet; never rises.
    pub fn bound(&self) -> Option<Bound> {
        let open = self.queue.peek()?;
        if let Some(tightest) = &self.tightest
            && tightest.slowness <= open.slowness
        {
            return Some(tightest.clone());
        }
        Some(Bound {
            slowness: open.slowness,
            component: open.component,
            length: open.length,
            cost: open.cost,
            path: open.path.clone(),
        })
    }

    /// How slow a path is for packets of `length` bytes: the component and the value.
    pub fn slowness(&self, cost: &CostVector, length: u32) -> (usize, Slowness) {
        let size = (self.metric == Metric::BitRate).then_some(length);
        self.metric
            .components(self.costs.components())
            .map(|component| (component, self.target.slowness(component, cost[component], size)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .unwrap_or((0, Slowness::zero()))
    }

    /// Looks at one open node.
    ///
    /// # Errors
    /// What execution or the solver cannot do.
    pub fn step(&mut self) -> Result<Event, SearchError> {
        if let Some(why) = &self.stuck {
            return Ok(Event::GaveUp(why.clone()));
        }
        let Some(top) = self.queue.peek() else { return Ok(Event::Complete) };
        if self.tightest.as_ref().is_none_or(|tightest| top.slowness < tightest.slowness) {
            self.tightest = self.bound();
            return Ok(self.tightest.clone().map_or(Event::Working, Event::Bound));
        }
        let Some(open) = self.queue.pop() else { return Ok(Event::Complete) };
        if let Some(nogood) = self.nogoods.violated(&open.path, open.length) {
            if nogood.folded {
                // It was opened before.
                self.open(open.length, open.component, open.decisions);
            } else {
                let arcs = nogood.arcs.clone();
                self.branch(&open, arcs);
            }
            return Ok(Event::Working);
        }
        if self.known.contains(&open.path) {
            self.leave(&open);
            return Ok(Event::Working);
        }
        self.statistics.candidates += 1;
        match self.checker.check(&mut self.unrolled, &open.path, open.length)? {
            Verdict::Satisfiable { length, model, conditions } => {
                self.statistics.satisfiable += 1;
                self.known.insert(open.path.clone());
                let (path, cost) = (open.path.clone(), open.cost);
                // Split when it comes up again: nobody may ask for another path.
                self.queue.push(open);
                Ok(Event::Path(Box::new(FoundPath { path, cost, length, model, conditions })))
            }
            Verdict::Conflict(found) => {
                self.statistics.unsatisfiable += 1;
                self.learn(found);
                // It violates what has just been learnt, and is split when it comes up again.
                self.queue.push(open);
                Ok(Event::Working)
            }
            Verdict::Unknown(why) => {
                self.stuck = Some(why.clone());
                self.queue.push(open);
                Ok(Event::GaveUp(why))
            }
        }
    }

    /// Keeps nogoods, folds them into the graph as far as possible, and opens the size classes that
    /// they make.
    fn learn(&mut self, mut found: Vec<Nogood>) {
        let (mut foldable, mut arcs) = (Vec::new(), Vec::new());
        for (index, nogood) in found.iter().enumerate() {
            if nogood.below == ANY_LENGTH {
                foldable.push(index);
                arcs.push(nogood.arcs.clone());
            }
        }
        let folded = self.folded.add(&self.unrolled.dag, &self.costs, &arcs);
        for (&index, folded) in foldable.iter().zip(folded) {
            found[index].folded = folded;
        }
        for nogood in found {
            let below = nogood.below;
            self.nogoods.add(nogood);
            if self.metric == Metric::BitRate
                && below <= self.max_packet
                && self.classes.insert(below)
            {
                self.open_class(below);
            }
        }
    }

    fn open_class(&mut self, length: u32) {
        for component in self.metric.components(self.costs.components()) {
            self.open(length, component, None);
        }
    }

    /// Splits an open node so that no part contains a path with all of `arcs`, those in most
    /// nogoods first: what is decided about them decides most.
    fn branch(&mut self, open: &Open, mut arcs: Vec<u32>) {
        arcs.sort_by_key(|&arc| (std::cmp::Reverse(self.nogoods.activity(arc)), arc));
        self.split(open, &arcs);
    }

    /// Splits an open node so that only its current path is left out.
    fn leave(&mut self, open: &Open) {
        let mut arcs = open.path.clone();
        arcs.retain(|&arc| !self.unrolled.dag.is_only_way(arc));
        self.split(open, &arcs);
    }

    /// Queues the parts of an open node that lack at least one of `arcs`: each forbids one of them
    /// and requires those before it.
    fn split(&mut self, open: &Open, arcs: &[u32]) {
        let required: BTreeSet<u32> =
            decisions(&open.decisions).filter(|d| d.required).map(|d| d.arc).collect();
        let mut before = open.decisions.clone();
        for &arc in arcs.iter().filter(|arc| !required.contains(arc)) {
            self.open(open.length, open.component, decide(&before, arc, false));
            before = decide(&before, arc, true);
        }
    }

    /// Queues a set of paths, unless it is empty.
    fn open(&mut self, length: u32, component: usize, decided: Decisions) {
        self.status.fill(Status::Free);
        for (arc, &least) in self.nogoods.unit_lengths().iter().enumerate() {
            if least > length {
                self.status[arc] = Status::Forbidden;
            }
        }
        let mut required = Vec::new();
        for decision in decisions(&decided) {
            let status = &mut self.status[decision.arc as usize];
            if decision.required {
                if *status == Status::Forbidden {
                    return;
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
            return;
        }
        self.allow(&required);
        let graph = self.folded.graph();
        let found = graph.longest(component, &self.allowed, &mut self.scratch);
        let Some((_, path)) = found else { return };
        let cost = graph.path_cost(&path);
        let size = (self.metric == Metric::BitRate).then_some(length);
        let slowness = self.target.slowness(component, cost[component], size);
        self.serial += 1;
        let serial = self.serial;
        self.queue.push(Open {
            slowness,
            length,
            component,
            decisions: decided,
            path,
            cost,
            serial,
        });
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
