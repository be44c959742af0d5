//! The main search for the slowest satisfiable path: branch and bound that learns from
//! unsatisfiable paths.
//!
//! A subproblem is a set of paths. Its bound is the cost of its longest path; if nogoods overlap,
//! Lagrange multipliers can lower the bound. Each step takes the subproblem with the slowest bound.
//! If no packet takes its longest path, the reason becomes a nogood, which applies to all
//! subproblems. The set is then split along the arcs of the nogood. So the overall bound never
//! rises and is valid at any time. It is exact once a path is satisfiable, because the bound of a
//! path without a nogood is its cost.
//!
//! The search runs separately for each component and each minimum packet size, with the same
//! nogoods ("throughput guarantees", § 5.3 and 5.4). A size class with least length `s` bounds bit
//! rates by cost / `s`. It contains the paths that no nogood excludes for packets of `s` bytes. New
//! size lemmas create classes, and all classes compete in one queue.

mod branching;
mod early_path;
mod early_path_search;
mod schedule;
mod trial;

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
use early_path_search::EarlyPathSearch;
use schedule::Schedule;
use slowpath_exec::ArcId;
use slowpath_ir::RelianceId;
use slowpath_smt::{Model, Solver, TermId};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, CostVector, Slowness, Target};
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::ops::Range;

/// Number of nogoods that a search with new costs takes over from the previous search at a time. If
/// a group makes the graph too large, only a part of the group is folded into it.
const LEARNT_TOGETHER: usize = 64;

/// The metric whose worst case the search bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Packets per second.
    PacketRate,
    /// Bits per second. The rate of each path is computed for its shortest packet.
    BitRate,
    /// Work per packet on this component, regardless of the other components.
    Component(usize),
}

impl Metric {
    /// Returns the indices of the components that the metric takes into account. `all` is the
    /// number of components.
    fn components(self, all: usize) -> Range<usize> {
        match self {
            Metric::PacketRate | Metric::BitRate => 0..all,
            Metric::Component(component) => component..component + 1,
        }
    }
}

/// A bound on all paths that the search has not reported yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Upper bound for the slowness of the remaining paths, in seconds per packet or seconds per
    /// byte.
    pub slowness: Slowness,
    /// Index of the component that causes this slowness.
    pub component: usize,
    /// Least length of the packets for which the bound was computed, in bytes.
    pub length: u32,
    /// Cost that corresponds to the bound, including the fixed cost per packet, for each component.
    /// On `component`, it is an upper bound for all remaining paths; on other components, it is the
    /// cost of `path`.
    pub cost: CostVector,
    /// An example of a path whose cost on `component` is the one in `cost`. Possibly no packet
    /// takes it.
    pub path: Vec<ArcId>,
}

/// Result of one step of the search.
#[derive(Debug)]
pub enum Event {
    /// The search continues; this step found nothing to report.
    Working,
    /// A tighter bound on the paths that have not been reported yet.
    Bound(Bound),
    /// A satisfiable path that is reported before the slowest one is known
    /// ([`Search::request_early_path`]).
    EarlyPath(Box<FoundPath>),
    /// The slowest satisfiable path among those that were not reported before.
    Path(Box<FoundPath>),
    /// All satisfiable paths have been reported.
    Complete,
    /// The solver could not decide whether any packet takes some path. The text is the reason. The
    /// bound on the paths remains valid.
    GaveUp(String),
}

/// Counters of the work that a search has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of paths that were checked for satisfiability.
    pub candidates: u64,
    /// Number of checked paths that some packet takes.
    pub satisfiable: u64,
    /// Number of checked paths that no packet of the considered size takes.
    pub unsatisfiable: u64,
    /// Number of program runs by the enumeration of inputs.
    pub runs: u64,
}

/// The search for the slowest satisfiable paths (paths that some packet takes) of one program.
pub struct Search<S> {
    unrolled: Unrolled,
    /// Cost graph of all paths.
    costs: CostGraph,
    /// Cost graph without the paths that contain folded nogoods.
    folded: Folded,
    target: Target,
    metric: Metric,
    options: SearchOptions,
    checker: PathChecker<S>,
    nogoods: Nogoods,
    /// Lagrange multipliers, by component and size class. A size class is given by the minimum
    /// packet length in bytes for which its bounds hold.
    ascents: HashMap<(usize, u32), Ascent>,
    queue: BinaryHeap<Subproblem>,
    classes: BTreeSet<u32>,
    /// For each component (such as processor or memory), the highest cost of any path, in ticks.
    most: Vec<u64>,
    max_packet: u32,
    /// Satisfiable paths found so far.
    known: HashSet<Vec<ArcId>>,
    /// Satisfiable paths that an earlier search of the same program found. They need no check.
    satisfiable: HashMap<Vec<ArcId>, FoundPath>,
    /// Lowest bound so far on the paths that are not reported yet. It also limits bounds of size
    /// classes that are created later.
    tightest: Option<Bound>,
    statistics: Statistics,
    serial: u64,
    scratch: Scratch,
    relaxation_scratch: RelaxationScratch,
    status: Vec<ArcStatus>,
    allowed: Vec<bool>,
    stuck: Option<String>,
    /// Enumeration of all paths, once [`enumerate_all`](Self::enumerate_all) was called.
    enumeration: Option<Enumeration>,
    /// Schedule that decides when the program is run on all combinations of inputs.
    turns: Schedule,
    /// State of the separate search for an early path, which is reported before the slowest one.
    descent: EarlyPathSearch<S>,
}

impl<S: Solver> Search<S> {
    /// Creates a search: computes the costs of all arcs and the first bounds.
    ///
    /// `packets` is the minimum and maximum packet length in bytes.
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

    /// Creates a search like [`new`](Self::new), but with only the techniques that `options`
    /// select.
    pub fn with_options(
        unrolled: Unrolled,
        model: &CostModel,
        target: Target,
        metric: Metric,
        packets: (u32, u32),
        solver: S,
        options: SearchOptions,
    ) -> Self {
        let checker = PathChecker::new(solver, packets.0, options);
        Search::with_checker(unrolled, model, target, metric, packets.1, checker)
    }

    /// Creates a search of the same program with other costs or another metric. The new search
    /// keeps terms, nogoods and the solver with its learnt clauses, because none of them depends on
    /// costs. It does not check the paths in `known` again: this search has found them, so their
    /// models meet their conditions.
    pub fn repriced(
        self,
        model: &CostModel,
        target: Target,
        metric: Metric,
        known: Vec<FoundPath>,
    ) -> Self {
        let Search { unrolled, mut checker, nogoods, max_packet, .. } = self;
        checker.set_brief(false);
        let mut search = Search::with_checker(unrolled, model, target, metric, max_packet, checker);
        let mut nogoods = nogoods.into_unfolded();
        while !nogoods.is_empty() {
            let rest = nogoods.split_off(nogoods.len().min(LEARNT_TOGETHER));
            search.learn(std::mem::replace(&mut nogoods, rest));
        }
        search.bound_front();
        search.satisfiable = known.into_iter().map(|found| (found.path.clone(), found)).collect();
        search
    }

    fn with_checker(
        unrolled: Unrolled,
        model: &CostModel,
        target: Target,
        metric: Metric,
        max_packet: u32,
        checker: PathChecker<S>,
    ) -> Self {
        let packets = (checker.min_packet(), max_packet);
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
            options: checker.options(),
            checker,
            nogoods: Nogoods::new(lengths),
            ascents: HashMap::new(),
            queue: BinaryHeap::new(),
            classes: classes.clone(),
            most: Vec::new(),
            max_packet: packets.1,
            known: HashSet::new(),
            satisfiable: HashMap::new(),
            tightest: None,
            statistics: Statistics::default(),
            serial: 0,
            scratch: Scratch::default(),
            relaxation_scratch: RelaxationScratch::default(),
            status: vec![ArcStatus::Free; arcs],
            allowed: vec![false; arcs],
            stuck: None,
            enumeration: None,
            turns: Schedule::new(),
            descent: EarlyPathSearch::Over,
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

    /// Returns the unrolled program that is searched.
    pub fn unrolled(&self) -> &Unrolled {
        &self.unrolled
    }

    /// Returns the counters of the work done so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Returns the number of learnt nogoods, sets of arcs that no packet takes together.
    pub fn nogoods(&self) -> usize {
        self.nogoods.len()
    }

    /// Replaces the stop condition of the search.
    pub fn set_stop(&mut self, stop: &Stop) {
        self.unrolled.executor.pool.set_stop(stop.clone());
    }

    /// Returns the learnt nogoods.
    pub fn learnt_nogoods(&self) -> &[Nogood] {
        self.nogoods.all()
    }

    /// Returns nogoods that a path contains, for packets of at most `length` bytes. Returns `None`
    /// if some packet takes the path, or if the solver gives up.
    ///
    /// # Errors
    ///
    /// Fails if execution or the solver fails.
    pub fn refute(
        &mut self,
        path: &[ArcId],
        length: u32,
    ) -> Result<Option<Vec<Nogood>>, SearchError> {
        let found = self.checker.check(&mut self.unrolled, path, length)?;
        Ok(match found {
            PathCheck::Conflict(nogoods) => Some(nogoods),
            PathCheck::Satisfiable { .. } | PathCheck::Unknown(_) => None,
        })
    }

    /// Returns the solver that checks paths, so that its statistics can be read.
    pub fn solver(&self) -> &S {
        self.checker.solver()
    }

    /// Returns a bound on all paths that have not been reported yet, or `None` if no path remains.
    /// The bound never rises.
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

    /// Returns the indices of the components that the metric and the options take into account.
    fn components(&self) -> Range<usize> {
        let all = self.metric.components(self.costs.components());
        self.options.only_component.map_or(all, |only| only..only + 1)
    }

    /// Returns the cost of a complete path on all components, including the fixed cost per packet.
    pub fn path_cost(&self, path: &[ArcId]) -> CostVector {
        self.costs.path_cost(path)
    }

    /// Returns the index of the component that limits a path with this cost, and the path's
    /// slowness for packets of `length` bytes.
    pub fn slowness(&self, cost: &CostVector, length: u32) -> (usize, Slowness) {
        let size = (self.metric == Metric::BitRate).then_some(length);
        self.components()
            .map(|component| (component, self.target.slowness(component, cost[component], size)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .unwrap_or((0, Slowness::zero()))
    }

    /// Returns a small set of reliances (assumptions about the environment on which single runs
    /// depend, [`slowpath_ir::Op::Rely`]) that suffices for taking a path found by the search.
    /// Replaces the path's model by the model of a run that relies on nothing else.
    ///
    /// # Errors
    ///
    /// Fails if execution or the solver fails.
    pub fn reliances(
        &mut self,
        found: &mut FoundPath,
    ) -> Result<BTreeSet<RelianceId>, SearchError> {
        self.checker.reliances(&mut self.unrolled, found)
    }

    /// Tries to find a run of a reported path that starts with the values in `wanted`, given as
    /// pairs of a term and its value. If such a run is found, replaces the model of `found` by it
    /// and returns true.
    ///
    /// # Errors
    ///
    /// Fails if the solver fails.
    pub fn try_start_values(
        &mut self,
        found: &mut FoundPath,
        wanted: &[(TermId, u64)],
    ) -> Result<bool, SearchError> {
        self.checker.try_start_values(&mut self.unrolled, found, wanted)
    }

    /// Returns the branch conditions of a path in order, each with its arc, as terms over inputs. A
    /// packet takes the path if all of them are 1.
    ///
    /// # Errors
    ///
    /// Fails if a condition cannot be executed symbolically.
    pub fn branch_conditions(
        &mut self,
        path: &[ArcId],
    ) -> Result<Vec<(ArcId, TermId)>, SearchError> {
        self.checker.arc_conditions(&mut self.unrolled, path)
    }

    /// Switches to enumeration: from now on, steps report all remaining paths, in no particular
    /// order.
    pub fn enumerate_all(&mut self) {
        self.enumeration.get_or_insert_with(|| Enumeration::new(&self.unrolled));
    }

    /// Runs one step of the search and returns its result. A step examines one set of paths, or
    /// advances the enumeration of inputs. After [`enumerate_all`](Self::enumerate_all), a step
    /// follows one arc of the enumeration instead.
    ///
    /// # Errors
    ///
    /// Fails if execution or the solver fails.
    pub fn step(&mut self) -> Result<Event, SearchError> {
        let event = self.advance();
        self.bound_front();
        event
    }

    fn advance(&mut self) -> Result<Event, SearchError> {
        if let Some(event) = self.descend() {
            return event;
        }
        if let Some(event) = self.run_trial() {
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
                // The bound was computed before this nogood was folded in, so it is computed again.
                self.add(
                    subproblem.length,
                    subproblem.component,
                    subproblem.decisions,
                    Some(subproblem.slowness),
                    None,
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
        if let Some(found) = self.satisfiable.remove(&subproblem.path)
            && found.length <= subproblem.length
        {
            return Ok(self.report_path(subproblem, found.length, found.model, found.conditions));
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
                Ok(self.report_path(subproblem, length, model, conditions))
            }
            PathCheck::Conflict(found) => {
                self.statistics.unsatisfiable += 1;
                if found.iter().any(|nogood| nogood.arcs.is_empty()) {
                    let what = "a conflict that no arc is to blame for";
                    return Err(SearchError::Internal(what.into()));
                }
                self.learn(found);
                // The path now violates a nogood, so the subproblem is split when it reaches the
                // front again.
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

    /// Reports the longest path of a subproblem (a set of paths); some packet takes this path.
    fn report_path(
        &mut self,
        subproblem: Subproblem,
        length: u32,
        model: Model,
        conditions: Vec<TermId>,
    ) -> Event {
        self.statistics.satisfiable += 1;
        self.known.insert(subproblem.path.clone());
        let (path, cost) = (subproblem.path.clone(), subproblem.cost);
        // The subproblem is split only when it reaches the front again, because the caller may not
        // want further paths.
        self.queue.push(subproblem);
        Event::Path(Box::new(FoundPath { path, cost, length, model, conditions }))
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

    /// Adds nogoods, and folds as many of them as possible into the cost graph. For bit rates, a
    /// size lemma (a nogood for packets below a length) also adds a class of packets from this
    /// length on, unless it exists.
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
