//! Checks whether some packet takes a given path, and finds the shortest such packet.
//!
//! A check first derives facts about values from the branch conditions, which needs no solver. Then
//! it asks the solver once, with one assumption for each branch condition. If no packet takes the
//! path, the solver names the conditions that contradict each other. The result is a nogood, a set
//! of arcs that no packet takes together. It contains the arcs of these conditions, and the arcs
//! that determine the values in them.

use crate::SearchError;
use crate::dag::Head;
use crate::found_path::FoundPath;
use crate::nogood::{ANY_LENGTH, Nogood};
use crate::options::SearchOptions;
use crate::unroll::Unrolled;
use rustc_hash::FxHashSet;
use slowpath_exec::{ArcId, ExecError, Executor, Facts, NodeId, Resolver};
use slowpath_ir::RelianceId;
use slowpath_smt::{
    Domain, Model, Node, Outcome, Solver, TermId, TermPool, minimise_core, nearby_model,
};
use std::collections::BTreeSet;

/// Result of checking a path.
#[derive(Debug)]
pub enum PathCheck {
    /// Some packet takes the path.
    Satisfiable {
        /// Length of the shortest such packet, in bytes.
        length: u32,
        /// Values for the content of the packet and for all other inputs of the program.
        model: Model,
        /// Branch conditions on the path as terms over inputs; all are 1 in the model.
        conditions: Vec<TermId>,
    },
    /// No packet of the permitted lengths takes the path. Each nogood is a set of arcs of the path
    /// that no packet takes together, so each alone is a proof.
    Conflict(Vec<Nogood>),
    /// The solver gave up for this reason, so it is unknown whether a packet takes the path.
    Unknown(String),
}

/// A checker that decides for paths of one unrolled program whether some packet takes them.
pub struct PathChecker<S> {
    solver: S,
    resolver: Resolver,
    min_packet: u32,
    options: SearchOptions,
    trail: Trail,
    /// Values of the packet and other inputs for the satisfiable path that was checked last.
    /// Similar paths often have similar packets.
    last_model: Model,
}

/// The path that was checked last, up to its first conflict. The check of another path reuses the
/// common beginning of both paths, because slow paths usually differ in few branches.
#[derive(Default)]
struct Trail {
    path: Vec<ArcId>,
    /// The distinct branch conditions of the path, without those that are always true.
    steps: Vec<TrailStep>,
    /// Snapshots of the facts: pairs of a number `n` and the facts that follow from the first `n`
    /// conditions. Snapshots at intervals of [`FACTS_EVERY`] conditions cost less than one for each
    /// condition.
    facts: Vec<(usize, Facts)>,
}

struct TrailStep {
    /// Branch condition as a term over inputs, which must have the value 1.
    term: TermId,
    /// Index on the path of the first arc that requires the condition.
    position: u32,
}

/// Number of conditions between two snapshots in [`Trail::facts`]. With debug assertions it is
/// small, so that the small programs of tests reach several snapshots.
const FACTS_EVERY: usize = if cfg!(debug_assertions) { 2 } else { 16 };

impl Trail {
    /// Shortens the trail to its longest common prefix with `path`.
    fn follow(&mut self, path: &[ArcId]) {
        let shared = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.path.truncate(shared);
        let within = self.steps.partition_point(|step| (step.position as usize) < shared);
        self.steps.truncate(within);
        self.facts.truncate(self.facts.partition_point(|&(steps, _)| steps <= within));
    }

    /// Adds a branch condition to the path. `facts` contains the facts that follow from all
    /// conditions, including the new one.
    fn push(&mut self, step: TrailStep, facts: &Facts) {
        self.steps.push(step);
        if self.steps.len().is_multiple_of(FACTS_EVERY) {
            self.facts.push((self.steps.len(), facts.clone()));
        }
    }

    /// Returns the conditions of the path.
    fn conditions(&self) -> Conditions {
        Conditions {
            terms: self.steps.iter().map(|step| step.term).collect(),
            positions: self.steps.iter().map(|step| step.position).collect(),
        }
    }

    /// Returns the facts that follow from the conditions of the path, which must not contradict
    /// each other.
    fn facts(&self, pool: &TermPool) -> Facts {
        let (known, mut facts) = self.facts.last().cloned().unwrap_or((0, Facts::of_path()));
        for &TrailStep { term, position } in &self.steps[known..] {
            let added = facts.assume(pool, term, true, Some(position));
            debug_assert!(added.is_ok(), "facts of the trail contradict each other");
        }
        facts
    }
}

/// Maximum number of solver calls for minimising one nogood, a set of arcs that no packet takes
/// together.
const MINIMISE_BUDGET: usize = 40;

/// Maximum number of conditions in a contradiction for which the checker looks for the same
/// contradiction at other positions on the path, such as other loop iterations.
const MAX_REPEATED: usize = 8;

/// Maximum number of other positions on the path, such as loop iterations, at which the checker
/// looks for the same contradiction.
const MAX_REPEATS: usize = 512;

/// The distinct branch conditions that a packet must meet to take a path.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// Branch conditions as terms, all different, that must have the value 1.
    pub terms: Vec<TermId>,
    /// For each term, the index on the path of the first arc that requires it.
    pub positions: Vec<u32>,
}

impl<S: Solver> PathChecker<S> {
    /// Creates a checker for packets of at least `min_packet` bytes.
    pub fn new(solver: S, min_packet: u32, options: SearchOptions) -> Self {
        let (resolver, trail) = (Resolver::new(), Trail::default());
        let last_model = Model::new();
        PathChecker { solver, resolver, min_packet, options, trail, last_model }
    }

    /// Returns the solver, for example to read its statistics.
    pub fn solver(&self) -> &S {
        &self.solver
    }

    /// Returns the options that select the techniques of the checks.
    pub(crate) fn options(&self) -> SearchOptions {
        self.options
    }

    /// Enables or disables brief checks, for which the solver spends less effort; see
    /// [`Solver::set_brief`].
    pub(crate) fn set_brief(&mut self, brief: bool) {
        self.solver.set_brief(brief);
    }

    /// Returns the branch conditions of a path as distinct terms over inputs. A packet takes the
    /// path if all of them are 1. Conditions that are always 1 are omitted.
    pub(crate) fn conditions(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
    ) -> Result<Vec<TermId>, SearchError> {
        let mut seen = BTreeSet::new();
        let all = self.arc_conditions(unrolled, path)?.into_iter().map(|(_, term)| term);
        let pool = &unrolled.executor.pool;
        Ok(all.filter(|&term| pool.as_const(term) != Some(1) && seen.insert(term)).collect())
    }

    /// Returns the branch conditions of a path in order, each with its arc, as terms over inputs. A
    /// packet takes the path if all of them are 1.
    pub(crate) fn arc_conditions(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
    ) -> Result<Vec<(ArcId, TermId)>, SearchError> {
        self.follow(unrolled, path);
        let mut found = Vec::new();
        for &arc in path {
            let Some((condition, holds)) = unrolled.dag[arc].condition else {
                continue;
            };
            let executor = &mut unrolled.executor;
            let resolved = self.resolver.resolve(executor, condition)?;
            let term = if holds { resolved } else { executor.pool.not(resolved) };
            found.push((arc, term));
        }
        Ok(found)
    }

    /// Moves the resolver (which computes the values of terms along one path) and the trail to
    /// another path. The trail is shortened, because the resolver knows the reasons of conditions
    /// only on its current path.
    fn follow(&mut self, unrolled: &Unrolled, path: &[ArcId]) {
        self.trail.follow(path);
        let step = |&arc: &ArcId| match unrolled.dag[arc].head {
            Head::Node(node) => Some((arc, node)),
            Head::Exit(_) => None,
        };
        let steps: Vec<(ArcId, NodeId)> = path.iter().filter_map(step).collect();
        self.resolver.follow(&steps);
    }

    /// Searches for a packet of at most `max_length` bytes that takes `path`.
    ///
    /// # Errors
    /// Fails if execution or the solver fails.
    pub fn check(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        max_length: u32,
    ) -> Result<PathCheck, SearchError> {
        self.follow(unrolled, path);
        let mut conditions = self.trail.conditions();
        let mut facts = match self.options.facts {
            true => self.trail.facts(&unrolled.executor.pool),
            false => Facts::of_path(),
        };
        let mut seen: FxHashSet<TermId> = conditions.terms.iter().copied().collect();
        let mut conflicts = Vec::new();
        for (position, &arc) in path.iter().enumerate().skip(self.trail.path.len()) {
            if conflicts.is_empty() {
                self.trail.path.extend(&path[self.trail.path.len()..position]);
            }
            let Some((condition, holds)) = unrolled.dag[arc].condition else {
                continue;
            };
            let executor = &mut unrolled.executor;
            let resolved = match self.resolver.resolve(executor, condition) {
                Ok(resolved) => resolved,
                Err(_) if !conflicts.is_empty() => break,
                Err(error) => return self.check_unexecutable(unrolled, path, &conditions, error),
            };
            let term = if holds { resolved } else { executor.pool.not(resolved) };
            if executor.pool.as_const(term) == Some(1) || !seen.insert(term) {
                continue;
            }
            let tag = position as u32;
            if self.options.facts
                && let Err(conflict) = facts.assume(&executor.pool, term, true, Some(tag))
            {
                // Later conditions may contain further, independent conflicts, so the check
                // continues.
                let arcs = self.arcs(unrolled, path, &conflict.reasons);
                conflicts.push(Nogood::new(arcs, ANY_LENGTH));
                continue;
            }
            conditions.terms.push(term);
            conditions.positions.push(tag);
            if conflicts.is_empty() {
                self.trail.push(TrailStep { term, position: tag }, &facts);
            }
        }
        if !conflicts.is_empty() {
            return Ok(PathCheck::Conflict(conflicts));
        }
        let Some(length) = unrolled.executor.packet_length() else {
            return self.without_length(unrolled, path, &conditions);
        };
        let (least, reasons) = facts.at_least(&unrolled.executor.pool, length);
        if least > u64::from(max_length) {
            let arcs = self.arcs(unrolled, path, &reasons);
            return Ok(PathCheck::Conflict(vec![Nogood::new(arcs, least as u32)]));
        }
        let (pool, least) = (&unrolled.executor.pool, least as u32);
        let guess = |start| with_length(pool, &facts, start, &conditions.terms, (length, least));
        let (empty, last) = (Model::new(), &self.last_model);
        let starts = [&empty, last].into_iter().take(if *last == empty { 1 } else { 2 });
        let guessed = starts.filter(|_| self.options.guess).find_map(guess);
        if let Some(model) = guessed {
            let length = least.max(self.min_packet);
            self.last_model = model.clone();
            return Ok(PathCheck::Satisfiable { length, model, conditions: conditions.terms });
        }
        self.with_length(unrolled, path, &conditions, length, (least, max_length))
    }

    /// Returns a small set of reliances (assumptions about the environment on which single runs
    /// depend) that suffices for taking a path. Replaces the model and the conditions of `found` by
    /// those of a run that takes the same path and relies on nothing else. The packet of this run
    /// is at most as long as the previous one.
    ///
    /// # Errors
    ///
    /// Fails if execution or the solver fails.
    pub(crate) fn reliances(
        &mut self,
        unrolled: &mut Unrolled,
        found: &mut FoundPath,
    ) -> Result<BTreeSet<RelianceId>, SearchError> {
        let nodes = found.path.iter().map(|&arc| unrolled.dag[arc].tail);
        let possible: Vec<(RelianceId, TermId)> =
            nodes.flat_map(|node| unrolled.executor.reliances(node)).copied().collect();
        let mut relied = BTreeSet::new();
        if possible.is_empty() {
            return Ok(relied);
        }
        self.follow(unrolled, &found.path);
        let length = unrolled.executor.packet_length().map(|length| (length, found.length));
        let mut without = Vec::with_capacity(possible.len());
        for (on, term) in possible {
            let term = self.resolver.resolve(&mut unrolled.executor, term)?;
            let term = unrolled.executor.pool.not(term);
            without.push((on, term));
        }
        let free = |pool: &TermPool, term| pool.as_const(term) != Some(1);
        without.retain(|&(_, term)| free(&unrolled.executor.pool, term));
        // Usually one run avoids all reliances. Otherwise each reliance is tried alone.
        let mut parts: Vec<Vec<(RelianceId, TermId)>> = vec![without];
        while let Some(part) = parts.pop().filter(|part| !part.is_empty()) {
            let mut terms = found.conditions.clone();
            terms.extend(part.iter().map(|&(_, term)| term));
            let wanted = Conditions { terms, positions: Vec::new() };
            match self.ask(unrolled, &wanted, length)? {
                Outcome::Sat(model) => {
                    found.model = model;
                    found.conditions = wanted.terms;
                }
                Outcome::Unsat(_) | Outcome::Unknown(_) if part.len() == 1 => {
                    relied.insert(part[0].0);
                }
                Outcome::Unsat(_) | Outcome::Unknown(_) => {
                    parts.extend(part.into_iter().rev().map(|one| vec![one]));
                }
            }
        }
        Ok(relied)
    }

    /// Tries to find a run of the same path that starts with the values in `wanted`, given as pairs
    /// of a term and its value. If such a run is found, replaces the model of `found` by it and
    /// returns true.
    ///
    /// # Errors
    ///
    /// Fails if the solver fails.
    pub(crate) fn try_start_values(
        &mut self,
        unrolled: &mut Unrolled,
        found: &mut FoundPath,
        wanted: &[(TermId, u64)],
    ) -> Result<bool, SearchError> {
        let pool = &mut unrolled.executor.pool;
        let looked_at: BTreeSet<TermId> = pool.subterms(&found.conditions).into_iter().collect();
        let mut terms = found.conditions.clone();
        for &(term, value) in wanted.iter().filter(|(term, _)| looked_at.contains(term)) {
            let value = pool.constant(pool.width(term), value);
            terms.push(pool.eq(term, value));
        }
        if terms.len() == found.conditions.len() {
            return Ok(true);
        }
        let wanted = Conditions { terms, positions: Vec::new() };
        match self.ask(unrolled, &wanted, None)? {
            Outcome::Sat(model) => found.model = model,
            Outcome::Unsat(_) | Outcome::Unknown(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the minimum length in bytes of the packets for which paths are checked.
    pub(crate) fn min_packet(&self) -> u32 {
        self.min_packet
    }

    /// Returns the value that a term has on one path. The path is given as `steps`: each arc with
    /// the node that it leads to.
    pub(crate) fn resolve(
        &mut self,
        executor: &mut Executor,
        steps: &[(ArcId, NodeId)],
        term: TermId,
    ) -> Result<TermId, ExecError> {
        let arcs: Vec<ArcId> = steps.iter().map(|&(arc, _)| arc).collect();
        self.trail.follow(&arcs);
        self.resolver.follow(steps);
        self.resolver.resolve(executor, term)
    }

    /// Handles a path on which a condition cannot be executed symbolically, for the reason in
    /// `error`. Returns a conflict if no packet meets the conditions before that condition. If some
    /// packet meets them, fails with `error`.
    fn check_unexecutable(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
        error: ExecError,
    ) -> Result<PathCheck, SearchError> {
        match self.ask(unrolled, conditions, None)? {
            Outcome::Unsat(core) => self.impossible(unrolled, path, conditions, core),
            Outcome::Unknown(why) => Ok(PathCheck::Unknown(why)),
            Outcome::Sat(_) => Err(error.into()),
        }
    }

    fn with_length(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
        length: TermId,
        (least, max_length): (u32, u32),
    ) -> Result<PathCheck, SearchError> {
        let bounded = self.ask(unrolled, conditions, Some((length, max_length)))?;
        let (lowest, model) = match bounded {
            Outcome::Unknown(why) => return Ok(PathCheck::Unknown(why)),
            Outcome::Sat(model) => (least, model),
            Outcome::Unsat(core) if core.iter().all(|&i| i < conditions.terms.len()) => {
                return self.impossible(unrolled, path, conditions, core);
            }
            Outcome::Unsat(_) => match self.ask(unrolled, conditions, None)? {
                Outcome::Unknown(why) => return Ok(PathCheck::Unknown(why)),
                Outcome::Unsat(core) => {
                    return self.impossible(unrolled, path, conditions, core);
                }
                Outcome::Sat(model) => (max_length.saturating_add(1), model),
            },
        };
        let (shortest, model) = match self.shorten(unrolled, conditions, length, lowest, model)? {
            Ok(found) => found,
            Err(why) => return Ok(PathCheck::Unknown(why)),
        };
        if shortest <= max_length {
            self.last_model = model.clone();
            return Ok(PathCheck::Satisfiable {
                length: shortest.max(self.min_packet),
                model,
                conditions: conditions.terms.clone(),
            });
        }
        match self.ask(unrolled, conditions, Some((length, shortest - 1)))? {
            Outcome::Unsat(core) => {
                let shortest = Some((length, shortest));
                Ok(PathCheck::Conflict(self.conflict(unrolled, path, conditions, core, shortest)?))
            }
            Outcome::Unknown(why) => Ok(PathCheck::Unknown(why)),
            Outcome::Sat(_) => Err(SearchError::Internal("the shortest packet is not".into())),
        }
    }

    fn without_length(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
    ) -> Result<PathCheck, SearchError> {
        Ok(match self.ask(unrolled, conditions, None)? {
            Outcome::Unknown(why) => PathCheck::Unknown(why),
            Outcome::Unsat(core) => return self.impossible(unrolled, path, conditions, core),
            Outcome::Sat(model) => PathCheck::Satisfiable {
                length: self.min_packet,
                model,
                conditions: conditions.terms.clone(),
            },
        })
    }

    /// Finds the shortest packet that meets the conditions and has at least `lowest` bytes, by
    /// binary search. `model` is a packet that meets the conditions. Returns the length in bytes
    /// and the packet. The inner error is the reason why the solver gave up.
    pub(crate) fn shorten(
        &mut self,
        unrolled: &mut Unrolled,
        conditions: &Conditions,
        length: TermId,
        lowest: u32,
        model: Model,
    ) -> Result<Result<(u32, Model), String>, SearchError> {
        let length_in = |model: &Model| match *unrolled.executor.pool.node(length) {
            Node::Var(var) => model.var(var).unwrap_or(u64::from(lowest)) as u32,
            _ => lowest,
        };
        let (mut low, mut high, mut best) = (lowest, length_in(&model).max(lowest), model);
        // The least length is usually possible, so it is the first guess.
        let mut middle = low;
        while low < high {
            match self.ask(unrolled, conditions, Some((length, middle)))? {
                Outcome::Sat(model) => (high, best) = (middle, model),
                Outcome::Unsat(_) => low = middle + 1,
                Outcome::Unknown(why) => return Ok(Err(why)),
            }
            middle = low + (high - low) / 2;
        }
        Ok(Ok((high, best)))
    }

    /// Asks the solver for a packet that meets the conditions. `at_most` contains the term for the
    /// packet length, and its maximum value. If given, this limit is the last assumption.
    pub(crate) fn ask(
        &mut self,
        unrolled: &mut Unrolled,
        conditions: &Conditions,
        at_most: Option<(TermId, u32)>,
    ) -> Result<Outcome, SearchError> {
        let mut assumptions = conditions.terms.clone();
        assumptions.extend(at_most.map(|(term, max)| at_most_term(unrolled, term, max)));
        Ok(self.solver.check(&mut unrolled.executor.pool, &assumptions)?)
    }

    /// Returns the result for a path whose conditions no packet of any length meets
    /// ([`PathCheck::Conflict`]).
    fn impossible(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
        core: Vec<usize>,
    ) -> Result<PathCheck, SearchError> {
        Ok(PathCheck::Conflict(self.conflict(unrolled, path, conditions, core, None)?))
    }

    /// Returns nogoods, sets of arcs that no packet takes together, for contradictory conditions.
    /// With `shortest` (the term of the packet length, and a length), the conditions contradict
    /// each other only for packets shorter than this length. `core` contains the indices of
    /// contradictory assumptions; the length limit is the last assumption.
    pub(crate) fn conflict(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
        core: Vec<usize>,
        shortest: Option<(TermId, u32)>,
    ) -> Result<Vec<Nogood>, SearchError> {
        let mut assumptions = conditions.terms.clone();
        if let Some((length, shortest)) = shortest {
            assumptions.push(at_most_term(unrolled, length, shortest - 1));
        }
        let budget = if self.options.generalise { MINIMISE_BUDGET } else { 0 };
        let pool = &mut unrolled.executor.pool;
        let core = minimise_core(&mut self.solver, pool, &assumptions, &core, budget)?;
        let positions: Vec<u32> =
            core.iter().filter_map(|&index| conditions.positions.get(index).copied()).collect();
        let needs_length = core.iter().any(|&index| index >= conditions.terms.len());
        let below = match shortest {
            Some((_, shortest)) if needs_length => shortest,
            _ => ANY_LENGTH,
        };
        let mut nogoods = vec![Nogood::new(self.arcs(unrolled, path, &positions), below)];
        if below == ANY_LENGTH && self.options.generalise {
            self.find_repeated_conflicts(unrolled, path, conditions, &positions, &mut nogoods)?;
        }
        Ok(nogoods)
    }

    /// Searches for repetitions of a known contradiction at other positions of a path. Other
    /// iterations of a loop often take the same branches in the same direction, and fail for the
    /// same reason.
    ///
    /// `positions` are the positions of the contradictory conditions. The solver confirms each new
    /// contradiction before its nogood is added to `nogoods`.
    fn find_repeated_conflicts(
        &mut self,
        unrolled: &mut Unrolled,
        path: &[ArcId],
        conditions: &Conditions,
        positions: &[u32],
        nogoods: &mut Vec<Nogood>,
    ) -> Result<(), SearchError> {
        let label = |position: u32| {
            let arc = &unrolled.dag[path[position as usize]];
            (unrolled.dag[arc.tail].block, arc.edge)
        };
        let mut pattern = positions.to_vec();
        pattern.sort_unstable();
        if pattern.len() > MAX_REPEATED {
            return Ok(());
        }
        let labels: Vec<_> = pattern.iter().map(|&position| label(position)).collect();
        let of_path: Vec<_> = conditions.positions.iter().map(|&p| label(p)).collect();
        let mut alike: Vec<Vec<usize>> = Vec::new();
        for first in 0..of_path.len() {
            let mut found = Vec::with_capacity(labels.len());
            let mut from = first;
            for wanted in &labels {
                // The first label must match at `first`, the others at later positions in the same
                // order.
                let limit = if found.is_empty() { first + 1 } else { of_path.len() };
                let Some(next) = (from..limit).find(|&index| of_path[index] == *wanted) else {
                    break;
                };
                found.push(next);
                from = next + 1;
            }
            let known = conditions.positions[first] == pattern[0];
            if found.len() == labels.len() && !known {
                alike.push(found);
            }
        }
        for indices in alike.into_iter().take(MAX_REPEATS) {
            let terms: Vec<TermId> = indices.iter().map(|&index| conditions.terms[index]).collect();
            let outcome = self.solver.check(&mut unrolled.executor.pool, &terms)?;
            if let Outcome::Unknown(_) = outcome {
                // Probably a timeout, so further checks would time out too.
                break;
            }
            if let Outcome::Unsat(_) = outcome {
                let positions: Vec<u32> =
                    indices.iter().map(|&index| conditions.positions[index]).collect();
                let arcs = self.arcs(unrolled, path, &positions);
                nogoods.push(Nogood::new(arcs, ANY_LENGTH));
            }
        }
        Ok(())
    }

    /// Returns the arcs that determine the conditions at the given positions of the path. If the
    /// option [`SearchOptions::generalise`] is off, returns all arcs up to the last of these
    /// positions.
    fn arcs(&self, unrolled: &Unrolled, path: &[ArcId], positions: &[u32]) -> Vec<ArcId> {
        if !self.options.generalise {
            let last = positions.iter().max().map_or(0, |&last| last as usize + 1);
            return path[..last.min(path.len())].to_vec();
        }
        let mut arcs = BTreeSet::new();
        for &position in positions {
            let arc = path[position as usize];
            arcs.insert(arc);
            if let Some((condition, _)) = unrolled.dag[arc].condition {
                let reasons = self.resolver.reasons(&unrolled.executor, condition);
                arcs.extend(reasons);
            }
        }
        arcs.into_iter().collect()
    }
}

/// Tries to change the model `start` so that the packet has `least` bytes and still meets the
/// conditions; uses no solver. `facts` contains the facts that the conditions imply. Returns `None`
/// if this fails.
pub(crate) fn with_length(
    pool: &TermPool,
    facts: &Facts,
    start: &Model,
    conditions: &[TermId],
    (length, least): (TermId, u32),
) -> Option<Model> {
    let Node::Var(var) = *pool.node(length) else { return None };
    let mut start = start.clone();
    start.set_var(var, least.into());
    let domain = |term| match term == length {
        true => Domain::constant(pool.width(length), least.into()),
        false => facts.domain(pool, term),
    };
    nearby_model(pool, &start, conditions, &domain)
}

fn at_most_term(unrolled: &mut Unrolled, length: TermId, max: u32) -> TermId {
    let pool = &mut unrolled.executor.pool;
    let max = pool.constant(pool.width(length), u64::from(max));
    pool.ule(length, max)
}

#[cfg(test)]
mod tests;
