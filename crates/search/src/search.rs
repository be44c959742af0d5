//! Longest path modulo nogoods: conflict-directed branch and bound, best bound first.
//!
//! Every subproblem is a set of paths, bounded by the cost of its slowest path or, where nogoods
//! overlap, by what their Lagrange multipliers leave of it. The slowest subproblem of all is looked
//! at; if no packet takes its path, the reason becomes a nogood, which every other subproblem
//! profits from, and the set is split along the nogood's arcs. So the bound falls monotonically, is
//! valid at any time, and is exact when a path is found possible: the bound of a path without a
//! nogood is its cost.
//!
//! Components and minimum packet sizes are several objectives over one store of nogoods
//! ("throughput guarantees", § 5.3 and 5.4): a size class with least length `s` bounds bit rates by
//! cost / `s` over the paths that no nogood rules out for packets of `s` bytes. Classes appear as
//! size lemmas are found, and all of them compete in one queue.

mod branching;
mod close;
mod descent;
mod reached;
mod turns;

use crate::SearchError;
use crate::check::{PathCheck, PathChecker};
use crate::costs::{CostGraph, Scratch};
use crate::enumerate::{Enumeration, Progress};
use crate::fold::Folded;
use crate::found_path::FoundPath;
use crate::nogood::{ANY_LENGTH, Nogood, Nogoods};
use crate::options::SearchOptions;
use crate::relax::{Ascent, RelaxationScratch};
use crate::subproblem::{ArcStatus, Subproblem};
use crate::unroll::Unrolled;
use descent::Descent;
use slowpath_exec::ArcId;
use slowpath_ir::RelianceId;
use slowpath_smt::{Solver, TermId};
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::ops::Range;
use turns::Turns;

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

/// A bound: nothing that is left to search is slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Seconds per packet or per byte.
    pub slowness: Slowness,
    /// The component that it is on.
    pub component: usize,
    /// The packet length that it holds for, in bytes (least of its size class).
    pub length: u32,
    /// The cost that it stands for, overhead included: on the component, what no path exceeds; on
    /// the others, that of `path`.
    pub cost: CostVector,
    /// A path like those that it bounds; no packet needs to take it, and it may cost more.
    pub path: Vec<ArcId>,
}

/// What one step of the search brought.
#[derive(Debug)]
pub enum Event {
    /// Nothing to report yet.
    Working,
    /// A tighter bound on the paths that are not found yet.
    Bound(Bound),
    /// A path that some packet takes, while slower ones may exist ([`Search::report_reached`]).
    Reached(Box<FoundPath>),
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
    /// Runs with inputs that were tried one by one.
    pub runs: u64,
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
    options: SearchOptions,
    checker: PathChecker<S>,
    nogoods: Nogoods,
    /// Lagrange multipliers of nogoods, by component and length of the size class.
    ascents: HashMap<(usize, u32), Ascent>,
    queue: BinaryHeap<Subproblem>,
    classes: BTreeSet<u32>,
    /// What no path costs more than, on each component, in ticks.
    most: Vec<u64>,
    max_packet: u32,
    /// Paths found so far.
    known: HashSet<Vec<ArcId>>,
    /// The tightest bound so far: classes that open late start with looser ones.
    tightest: Option<Bound>,
    statistics: Statistics,
    serial: u64,
    scratch: Scratch,
    relaxation_scratch: RelaxationScratch,
    status: Vec<ArcStatus>,
    allowed: Vec<bool>,
    stuck: Option<String>,
    /// The enumeration of all paths, once that is what is wanted.
    enumeration: Option<Enumeration>,
    /// The trial of all inputs, where few matter.
    turns: Turns,
    /// The search for some path that a packet takes.
    descent: Descent<S>,
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
        Search::with_options(
            unrolled,
            model,
            target,
            metric,
            packets,
            solver,
            SearchOptions::default(),
        )
    }

    /// The same, with some of what makes the search quick left out.
    pub fn with_options(
        unrolled: Unrolled,
        model: &CostModel,
        target: Target,
        metric: Metric,
        packets: (u32, u32),
        solver: S,
        options: SearchOptions,
    ) -> Self {
        let costs = CostGraph::new(&unrolled.dag, unrolled.executor.program(), model);
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
            options,
            checker: PathChecker::new(solver, packets.0, options),
            nogoods: Nogoods::new(lengths),
            ascents: HashMap::new(),
            queue: BinaryHeap::new(),
            classes: classes.clone(),
            most: Vec::new(),
            max_packet: packets.1,
            known: HashSet::new(),
            tightest: None,
            statistics: Statistics::default(),
            serial: 0,
            scratch: Scratch::default(),
            relaxation_scratch: RelaxationScratch::default(),
            status: vec![ArcStatus::Free; arcs],
            allowed: vec![false; arcs],
            stuck: None,
            enumeration: None,
            turns: Turns::new(),
            descent: Descent::Over,
            unrolled,
        };
        search.allowed.fill(true);
        for component in 0..search.costs.components() {
            let longest = search.costs.longest(component, &search.allowed, &mut search.scratch);
            search.most.push(longest.map_or(0, |(ticks, _)| ticks));
        }
        for length in classes {
            search.add_class(length);
        }
        search.bound_front();
        search
    }

    /// The unrolled program.
    pub fn unrolled(&self) -> &Unrolled {
        &self.unrolled
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
        if let Some(bound) = self.closed_bound() {
            return bound;
        }
        let subproblem = self.queue.peek()?;
        if let Some(tightest) = &self.tightest
            && tightest.slowness <= subproblem.slowness
        {
            return Some(tightest.clone());
        }
        Some(Bound {
            slowness: subproblem.slowness,
            component: subproblem.component,
            length: subproblem.length,
            cost: subproblem.cost.with(subproblem.component, subproblem.ticks),
            path: subproblem.path.clone(),
        })
    }

    /// The components that decide what is slowest.
    fn components(&self) -> Range<usize> {
        let all = self.metric.components(self.costs.components());
        self.options.only_component.map_or(all, |only| only..only + 1)
    }

    /// The cost of a path, overhead included.
    pub fn path_cost(&self, path: &[ArcId]) -> CostVector {
        self.costs.path_cost(path)
    }

    /// How slow a path is for packets of `length` bytes: the component and the value.
    pub fn slowness(&self, cost: &CostVector, length: u32) -> (usize, Slowness) {
        let size = (self.metric == Metric::BitRate).then_some(length);
        self.components()
            .map(|component| (component, self.target.slowness(component, cost[component], size)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .unwrap_or((0, Slowness::zero()))
    }

    /// What a path that was found relies on ([`slowpath_ir::Op::Rely`]), as little as possible: its
    /// model becomes that of a run that relies on nothing else.
    ///
    /// # Errors
    /// What execution or the solver cannot do.
    pub fn reliances(
        &mut self,
        found: &mut FoundPath,
    ) -> Result<BTreeSet<RelianceId>, SearchError> {
        self.checker.reliances(&mut self.unrolled, found)
    }

    /// Makes a run of a path that was found with these values at its start, if there is one, its
    /// model. Tells whether there is.
    ///
    /// # Errors
    /// What the solver cannot do.
    pub fn prefer(
        &mut self,
        found: &mut FoundPath,
        wanted: &[(TermId, u64)],
    ) -> Result<bool, SearchError> {
        self.checker.prefer(&mut self.unrolled, found, wanted)
    }

    /// From now on, all paths are wanted that have not been found yet, and no longer the slowest of
    /// them first.
    pub fn exhaust(&mut self) {
        self.enumeration.get_or_insert_with(|| Enumeration::new(&self.unrolled));
    }

    /// Looks at one subproblem; or, after [`exhaust`](Self::exhaust), at one way out of a node.
    ///
    /// # Errors
    /// What execution or the solver cannot do.
    pub fn step(&mut self) -> Result<Event, SearchError> {
        let event = self.advance();
        self.bound_front();
        event
    }

    fn advance(&mut self) -> Result<Event, SearchError> {
        if let Some(event) = self.descend() {
            return event;
        }
        if let Some(event) = self.close() {
            return event;
        }
        self.turns.effort += 1;
        if let Some(enumeration) = self.enumeration.take() {
            return self.enumerate(enumeration);
        }
        if let Some(why) = &self.stuck {
            return Ok(Event::GaveUp(why.clone()));
        }
        let Some(top) = self.queue.peek() else { return Ok(Event::Complete) };
        if self.tightest.as_ref().is_none_or(|tightest| top.slowness < tightest.slowness) {
            self.tightest = self.bound();
            return Ok(self.tightest.clone().map_or(Event::Working, Event::Bound));
        }
        let Some(subproblem) = self.queue.pop() else { return Ok(Event::Complete) };
        if let Some(nogood) = self.nogoods.violated(&subproblem.path, subproblem.length) {
            if nogood.folded {
                // It was bounded before that nogood was folded in.
                self.add(
                    subproblem.length,
                    subproblem.component,
                    subproblem.decisions,
                    Some(subproblem.slowness),
                );
                return Ok(Event::Working);
            }
            let arcs = nogood.arcs.clone();
            if !self.tighten(&subproblem) {
                self.branch(&subproblem, arcs);
            }
            return Ok(Event::Working);
        }
        if self.known.contains(&subproblem.path) {
            self.leave(&subproblem);
            return Ok(Event::Working);
        }
        if self.turns.is_unplanned() {
            self.plan();
            self.queue.push(subproblem);
            return Ok(Event::Working);
        }
        self.statistics.candidates += 1;
        let questions = self.checker.solver().statistics().checks;
        let checked =
            self.checker.check(&mut self.unrolled, &subproblem.path, subproblem.length)?;
        self.turns.checked(self.checker.solver().statistics().checks - questions);
        match checked {
            PathCheck::Satisfiable { length, model, conditions } => {
                self.statistics.satisfiable += 1;
                self.known.insert(subproblem.path.clone());
                let (path, cost) = (subproblem.path.clone(), subproblem.cost);
                // Split when it comes up again: nobody may ask for another path.
                self.queue.push(subproblem);
                Ok(Event::Path(Box::new(FoundPath { path, cost, length, model, conditions })))
            }
            PathCheck::Conflict(found) => {
                self.statistics.unsatisfiable += 1;
                if found.iter().any(|nogood| nogood.arcs.is_empty()) {
                    let what = "a conflict that no arc is to blame for";
                    return Err(SearchError::Internal(what.into()));
                }
                self.learn(found);
                // It violates what has just been learnt, and is split when it comes up again.
                self.queue.push(subproblem);
                Ok(Event::Working)
            }
            PathCheck::Unknown(why) => {
                self.queue.push(subproblem);
                if self.turns.wait() {
                    return Ok(Event::Working);
                }
                self.stuck = Some(why.clone());
                Ok(Event::Working)
            }
        }
    }

    fn enumerate(&mut self, mut enumeration: Enumeration) -> Result<Event, SearchError> {
        self.plan();
        let Search { unrolled, checker, nogoods, max_packet, .. } = self;
        let progress = match enumeration.step(unrolled, checker, nogoods, *max_packet) {
            Ok(progress) => progress,
            Err(error) => {
                self.enumeration = Some(enumeration);
                return Err(error);
            }
        };
        let event = match progress {
            Progress::Working => Event::Working,
            Progress::Impossible => {
                self.statistics.candidates += 1;
                self.statistics.unsatisfiable += 1;
                Event::Working
            }
            Progress::Path { .. } if self.known.contains(enumeration.path()) => Event::Working,
            Progress::Path { length, model } => {
                self.statistics.candidates += 1;
                self.statistics.satisfiable += 1;
                let path = enumeration.path().to_owned();
                let cost = self.costs.path_cost(&path);
                if self.turns.trying() {
                    self.known.insert(path.clone());
                }
                let conditions = enumeration.conditions().to_owned();
                Event::Path(Box::new(FoundPath { path, cost, length, model, conditions }))
            }
            Progress::Complete => Event::Complete,
            Progress::Undecided(_) if self.turns.trying() => Event::Working,
            Progress::Undecided(why) => Event::GaveUp(why),
        };
        if enumeration.is_undecided() {
            self.turns.wait();
        }
        self.enumeration = Some(enumeration);
        Ok(event)
    }

    /// Keeps nogoods, folds them into the graph as far as possible, and adds the size classes that
    /// they make.
    fn learn(&mut self, mut found: Vec<Nogood>) {
        let (mut foldable, mut arcs) = (Vec::new(), Vec::new());
        for (index, nogood) in found.iter().enumerate() {
            if nogood.below == ANY_LENGTH {
                foldable.push(index);
                arcs.push(nogood.arcs.clone());
            }
        }
        if !self.options.fold {
            arcs.clear();
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
                self.add_class(below);
            }
        }
    }
}
