//! All satisfiable paths, in no particular order: depth first over prefixes, each of which some
//! packet takes.
//!
//! A prefix that no packet takes is not followed, so that the work is at most the number of
//! satisfiable paths times their length, however many impossible paths there are. Most of it needs
//! no solver: a packet known for the prefix takes one of the two ways out of a branch, and facts or
//! nogoods rule out most of those that no packet takes. Best-first search would have to split its
//! sets of paths at every path found; it is for the slowest few.

use crate::SearchError;
use crate::check::{Conditions, PathChecker, with_length};
use crate::dag::Head;
use crate::nogood::Nogoods;
use crate::unroll::Unrolled;
use slowpath_exec::{ArcId, Facts, NodeId};
use slowpath_smt::{
    Evaluator, EvaluatorCache, Model, Node, Outcome, Solver, TermId, TermPool, VarId, nearby_model,
};
use std::collections::HashMap;
use std::rc::Rc;

/// A node on the current path.
#[derive(Debug)]
struct Visit {
    /// Ways out that have not been followed yet.
    untried: Vec<ArcId>,
    /// What the conditions up to here say.
    facts: Facts,
    /// How many conditions there are up to here.
    conditions: usize,
    /// What some packet that gets here looks like; `None` if the solver could not tell.
    model: Option<Rc<Model>>,
}

/// Where the enumeration is.
#[derive(Debug, Default)]
pub(crate) struct Enumeration {
    visits: Vec<Visit>,
    /// The arcs between the visits.
    path: Vec<ArcId>,
    steps: Vec<(ArcId, NodeId)>,
    conditions: Conditions,
    /// The arcs of the path, as a set.
    taken: Vec<bool>,
    /// The model that was evaluated last, and what came of it.
    evaluated: (Rc<Model>, EvaluatorCache),
    /// The unknowns in conditions that cannot be zero, by condition.
    not_zero: HashMap<TermId, Vec<VarId>>,
    /// Why a path could not be decided, if one could not.
    undecided: Option<String>,
    /// What is behind each arc at most, where the heaviest ways come first.
    behind: Option<Vec<u64>>,
}

/// What one step of the enumeration brought.
#[derive(Debug)]
pub(crate) enum Progress {
    /// Nothing to report yet.
    Working,
    /// No packet takes the way that was looked at.
    Impossible,
    /// A path, the shortest packet in bytes, and what it looks like.
    Path { length: u32, model: Model },
    /// All ways have been followed.
    Complete,
    /// The same, but it is not known whether packets take some of them.
    Undecided(String),
}

/// What a way out of a node asks for.
enum Way {
    Possible(Visit),
    Impossible,
}

impl Enumeration {
    /// The enumeration of the paths of a graph, at its start.
    pub fn new(unrolled: &Unrolled) -> Self {
        let mut start =
            Enumeration { taken: vec![false; unrolled.dag.arcs.len()], ..Enumeration::default() };
        let entry = unrolled.dag.nodes.first();
        start.visits.push(Visit {
            untried: entry.map_or_else(Vec::new, |node| node.out.clone()),
            facts: Facts::new(),
            conditions: 0,
            model: Some(Rc::new(Model::new())),
        });
        start
    }

    /// The same by the heavier way out of each node first; `behind` is what arcs cost with what
    /// comes behind them at most.
    pub fn heaviest_first(unrolled: &Unrolled, behind: Vec<u64>) -> Self {
        let mut start = Enumeration { behind: Some(behind), ..Enumeration::new(unrolled) };
        if let Some(mut visit) = start.visits.pop() {
            start.order(&mut visit.untried);
            start.visits.push(visit);
        }
        start
    }

    /// Puts the ways out of a node in order; the last one is followed first.
    fn order(&self, ways: &mut [ArcId]) {
        if let Some(behind) = &self.behind {
            ways.sort_by_key(|arc| behind[arc.index()]);
        }
    }

    /// The arcs of the path that [`Progress::Path`] is about.
    pub fn path(&self) -> &[ArcId] {
        &self.path
    }

    /// Its conditions.
    pub fn conditions(&self) -> &[TermId] {
        &self.conditions.terms
    }

    /// Whether some way could not be decided.
    pub fn is_undecided(&self) -> bool {
        self.undecided.is_some()
    }

    /// Looks at one way out of a node, for packets of at most `max_length` bytes.
    ///
    /// # Errors
    /// What execution or the solver cannot do.
    pub fn step<S: Solver>(
        &mut self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        max_length: u32,
    ) -> Result<Progress, SearchError> {
        // A path that was reported ends in an exit, which has no ways out.
        if self.path.len() == self.visits.len() {
            self.leave();
        }
        let Some(visit) = self.visits.last_mut() else {
            return Ok(match self.undecided.clone() {
                Some(why) => Progress::Undecided(why),
                None => Progress::Complete,
            });
        };
        let Some(arc) = visit.untried.pop() else {
            self.visits.pop();
            self.leave();
            return Ok(Progress::Working);
        };
        self.conditions.terms.truncate(visit.conditions);
        self.conditions.positions.truncate(visit.conditions);
        let Way::Possible(next) = self.enter(unrolled, checker, nogoods, arc, max_length)? else {
            self.leave();
            return Ok(Progress::Impossible);
        };
        match unrolled.dag[arc].head {
            Head::Node(_) => {
                self.visits.push(next);
                Ok(Progress::Working)
            }
            Head::Exit(_) => self.exit(unrolled, checker, nogoods, next, max_length),
        }
    }

    /// Takes an arc: what the conditions of the path are then, and a packet for them.
    fn enter<S: Solver>(
        &mut self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        arc: ArcId,
        max_length: u32,
    ) -> Result<Way, SearchError> {
        let (head, condition) = {
            let arc = &unrolled.dag[arc];
            (arc.head, arc.condition)
        };
        self.path.push(arc);
        self.taken[arc.index()] = true;
        let Some(visit) = self.visits.last() else { return Ok(Way::Impossible) };
        let (mut facts, mut model) = (visit.facts.clone(), visit.model.clone());
        if nogoods.completed(arc, &self.taken, max_length) {
            return Ok(Way::Impossible);
        }
        if let Some((condition, holds)) = condition {
            let executor = &mut unrolled.executor;
            let resolved = checker.resolve(executor, &self.steps, condition)?;
            let term = if holds { resolved } else { executor.pool.not(resolved) };
            match executor.pool.as_const(term) {
                Some(0) => return Ok(Way::Impossible),
                Some(_) => {}
                None => {
                    let tag = self.path.len() as u32 - 1;
                    if facts.assume(&executor.pool, term, true, Some(tag)).is_err() {
                        return Ok(Way::Impossible);
                    }
                    let length = executor.packet_length();
                    if let Some(length) = length
                        && facts.at_least(&executor.pool, length).0 > u64::from(max_length)
                    {
                        return Ok(Way::Impossible);
                    }
                    self.conditions.terms.push(term);
                    self.conditions.positions.push(tag);
                    let pool = &executor.pool;
                    model = model.and_then(|model| {
                        let domain = |term| facts.domain(pool, term);
                        if self.agrees(pool, &model, term) {
                            return Some(model);
                        }
                        nearby_model(pool, &model, &self.conditions.terms, &domain).map(Rc::new)
                    });
                    if model.is_none() {
                        let limit = length.map(|length| (length, max_length));
                        match checker.ask(unrolled, &self.conditions, limit)? {
                            Outcome::Sat(found) => {
                                model = Some(Rc::new(found));
                            }
                            Outcome::Unsat(core) => {
                                let limit =
                                    length.map(|length| (length, max_length.saturating_add(1)));
                                let (path, conditions) = (&self.path, &self.conditions);
                                checker
                                    .conflict(unrolled, path, conditions, core, limit)?
                                    .into_iter()
                                    .for_each(|nogood| nogoods.add(nogood));
                                return Ok(Way::Impossible);
                            }
                            Outcome::Unknown(why) => self.undecided = Some(why),
                        }
                    }
                }
            }
        }
        let untried = match head {
            Head::Exit(_) => Vec::new(),
            Head::Node(node) => {
                self.steps.push((arc, node));
                let mut ways: Vec<ArcId> = unrolled.dag[node].out.iter().rev().copied().collect();
                self.order(&mut ways);
                ways
            }
        };
        Ok(Way::Possible(Visit { untried, facts, conditions: self.conditions.terms.len(), model }))
    }

    /// The end of a path: how short can its packet be?
    fn exit<S: Solver>(
        &mut self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        visit: Visit,
        max_length: u32,
    ) -> Result<Progress, SearchError> {
        let complete = |model: Rc<Model>| {
            let (pool, facts) = (&unrolled.executor.pool, &visit.facts);
            let domain = |term| facts.domain(pool, term);
            // The same, with a value for all that the conditions look at.
            nearby_model(pool, &model, &self.conditions.terms, &domain)
        };
        let found = match visit.model.and_then(complete) {
            Some(model) => Some(model),
            // A part of the path could not be decided; all of it may be.
            None => {
                let length = unrolled.executor.packet_length();
                let limit = length.map(|length| (length, max_length));
                match checker.ask(unrolled, &self.conditions, limit)? {
                    Outcome::Sat(model) => Some(model),
                    Outcome::Unsat(_) => None,
                    Outcome::Unknown(why) => {
                        self.undecided = Some(why);
                        None
                    }
                }
            }
        };
        let Some(model) = found else { return Ok(Progress::Impossible) };
        let Some(length) = unrolled.executor.packet_length() else {
            return Ok(Progress::Path { length: checker.min_packet(), model });
        };
        let pool = &unrolled.executor.pool;
        let least = visit.facts.at_least(pool, length).0 as u32;
        let least = least.max(nogoods.least_length(&self.path));
        let terms = &self.conditions.terms;
        let model =
            with_length(pool, &visit.facts, &model, terms, (length, least)).unwrap_or(model);
        match checker.shorten(unrolled, &self.conditions, length, least, model)? {
            // The packets that were guessed may be longer than those asked for.
            Ok((shortest, _)) if shortest > max_length => Ok(Progress::Impossible),
            Ok((shortest, model)) => {
                if shortest > least {
                    self.learn_length(unrolled, checker, nogoods, (length, shortest))?;
                }
                Ok(Progress::Path { length: shortest.max(checker.min_packet()), model })
            }
            Err(why) => {
                self.undecided = Some(why);
                Ok(Progress::Impossible)
            }
        }
    }

    /// Keeps why the path needs packets of so many bytes, which the facts do not know: others may
    /// need them for the same reason.
    fn learn_length<S: Solver>(
        &self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        (length, shortest): (TermId, u32),
    ) -> Result<(), SearchError> {
        let shorter = Some((length, shortest - 1));
        if let Outcome::Unsat(core) = checker.ask(unrolled, &self.conditions, shorter)? {
            let (path, needed) = (&self.path, Some((length, shortest)));
            let lemmas = checker.conflict(unrolled, path, &self.conditions, core, needed)?;
            lemmas.into_iter().for_each(|lemma| nogoods.add(lemma));
        }
        Ok(())
    }

    /// Goes back over the last arc.
    fn leave(&mut self) {
        if let Some(arc) = self.path.pop() {
            self.taken[arc.index()] = false;
        }
        self.steps.truncate(self.path.len());
    }

    /// Whether a model makes `term` true, and assigns what in it cannot be zero, which is what
    /// models say of unknowns without a value.
    fn agrees(&mut self, pool: &TermPool, model: &Rc<Model>, term: TermId) -> bool {
        if !Rc::ptr_eq(model, &self.evaluated.0) {
            self.evaluated = (Rc::clone(model), EvaluatorCache::default());
        }
        let cache = std::mem::take(&mut self.evaluated.1);
        let mut evaluator = Evaluator::with_cache(pool, model, cache);
        let holds = evaluator.value(term) == 1;
        self.evaluated.1 = evaluator.into_cache();
        let not_zero = self.not_zero.entry(term).or_insert_with(|| {
            let parts = pool.subterms(&[term]).into_iter();
            let parts = parts.filter(|&part| !pool.domain(part).contains(0));
            parts
                .filter_map(|part| match *pool.node(part) {
                    Node::Var(var) => Some(var),
                    _ => None,
                })
                .collect()
        });
        holds && not_zero.iter().all(|&var| model.var(var).is_some())
    }
}
