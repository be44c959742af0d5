//! Enumerates all satisfiable paths in no particular order. The enumeration is a depth-first search
//! that extends prefixes of paths.
//!
//! A prefix that no packet takes is not extended. So the work is at most the number of satisfiable
//! paths times their length, however many unsatisfiable paths exist. Most steps need no solver. A
//! packet that is known to take the prefix also takes one of the next arcs. Facts or nogoods rule
//! out most other arcs. The best-first search of this crate splits a set of paths whenever it finds
//! a path. It therefore suits only the slowest few paths.

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

/// A node on the path that the enumeration currently extends.
#[derive(Debug)]
struct Visit {
    /// Outgoing arcs that the enumeration has not followed yet.
    untried: Vec<ArcId>,
    /// Facts about values that follow from the branch conditions up to this node.
    facts: Facts,
    /// Number of branch conditions on the path up to this node.
    conditions: usize,
    /// Values of inputs for which a run reaches this node; `None` if the solver could not decide
    /// whether there are any.
    model: Option<Rc<Model>>,
}

/// State of a depth-first enumeration of all satisfiable paths.
#[derive(Debug, Default)]
pub(crate) struct Enumeration {
    visits: Vec<Visit>,
    /// Arcs of the current path.
    path: Vec<ArcId>,
    steps: Vec<(ArcId, NodeId)>,
    conditions: Conditions,
    /// For each arc of the program, true if the current path contains it.
    taken: Vec<bool>,
    /// The model (values of inputs) that was last used to evaluate terms, with the values of terms
    /// computed so far.
    evaluated: (Rc<Model>, EvaluatorCache),
    /// For each branch condition, the unknowns (inputs) in it that cannot be zero.
    not_zero: HashMap<TermId, Vec<VarId>>,
    /// Reason why the solver could not decide some path; `None` if all paths were decided.
    undecided: Option<String>,
    /// For each arc, the highest cost of any path from this arc to an exit, in ticks. `None` if
    /// arcs may be followed in any order.
    max_cost_from: Option<Vec<u64>>,
}

/// Result of one step of the enumeration of paths.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The enumeration continues; this step found nothing to report.
    Working,
    /// The step tried to extend the prefix of a path by an arc, but no packet takes the longer
    /// prefix.
    Impossible,
    /// A satisfiable path. The fields contain the length in bytes and the content of the shortest
    /// packet that takes it.
    Path { length: u32, model: Model },
    /// All paths have been enumerated.
    Complete,
    /// All paths have been enumerated, but the solver could not decide some paths, for this reason.
    Undecided(String),
}

/// Result of extending the current path by an arc.
enum StepOutcome {
    Possible(Visit),
    Impossible,
}

impl Enumeration {
    pub fn new(unrolled: &Unrolled) -> Self {
        let mut start =
            Enumeration { taken: vec![false; unrolled.dag.arcs.len()], ..Enumeration::default() };
        let entry = unrolled.dag.nodes.first();
        start.visits.push(Visit {
            untried: entry.map_or_else(Vec::new, |node| node.out.clone()),
            facts: Facts::of_path(),
            conditions: 0,
            model: Some(Rc::new(Model::new())),
        });
        start
    }

    /// Creates an enumeration that follows the most expensive arc of each node first.
    /// `max_cost_from` contains, for each arc, the highest cost of any path from this arc to an
    /// exit.
    pub fn heaviest_first(unrolled: &Unrolled, max_cost_from: Vec<u64>) -> Self {
        let mut start =
            Enumeration { max_cost_from: Some(max_cost_from), ..Enumeration::new(unrolled) };
        if let Some(mut visit) = start.visits.pop() {
            start.order(&mut visit.untried);
            start.visits.push(visit);
        }
        start
    }

    /// Sorts the outgoing arcs of a node so that the most expensive one is last. The enumeration
    /// follows the last arc first. Does nothing if the enumeration has no costs of arcs.
    fn order(&self, ways: &mut [ArcId]) {
        if let Some(max_cost_from) = &self.max_cost_from {
            ways.sort_by_key(|arc| max_cost_from[arc.index()]);
        }
    }

    /// Returns the arcs of the path that the last step reported as [`Progress::Path`].
    pub fn path(&self) -> &[ArcId] {
        &self.path
    }

    /// Returns the branch conditions of the path that the last step reported as [`Progress::Path`].
    pub fn conditions(&self) -> &[TermId] {
        &self.conditions.terms
    }

    /// Returns true if the solver could not decide some path.
    pub fn is_undecided(&self) -> bool {
        self.undecided.is_some()
    }

    /// Tries to extend the current prefix of a path by one arc, for packets of at most `max_length`
    /// bytes.
    ///
    /// # Errors
    ///
    /// Fails if execution or the solver fails.
    pub fn step<S: Solver>(
        &mut self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        max_length: u32,
    ) -> Result<Progress, SearchError> {
        // The reported path ends in an exit, which has no entry in `visits`.
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
        let StepOutcome::Possible(next) =
            self.enter(unrolled, checker, nogoods, arc, max_length)?
        else {
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

    /// Extends the current prefix of a path by an arc: updates conditions and facts, and searches
    /// for a packet that takes the longer prefix.
    fn enter<S: Solver>(
        &mut self,
        unrolled: &mut Unrolled,
        checker: &mut PathChecker<S>,
        nogoods: &mut Nogoods,
        arc: ArcId,
        max_length: u32,
    ) -> Result<StepOutcome, SearchError> {
        let (head, condition) = {
            let arc = &unrolled.dag[arc];
            (arc.head, arc.condition)
        };
        self.path.push(arc);
        self.taken[arc.index()] = true;
        let Some(visit) = self.visits.last() else { return Ok(StepOutcome::Impossible) };
        let (mut facts, mut model) = (visit.facts.clone(), visit.model.clone());
        if nogoods.completed(arc, &self.taken, max_length) {
            return Ok(StepOutcome::Impossible);
        }
        if let Some((condition, holds)) = condition {
            let executor = &mut unrolled.executor;
            let resolved = checker.resolve(executor, &self.steps, condition)?;
            let term = if holds { resolved } else { executor.pool.not(resolved) };
            match executor.pool.as_const(term) {
                Some(0) => return Ok(StepOutcome::Impossible),
                Some(_) => {}
                None => {
                    let tag = self.path.len() as u32 - 1;
                    if facts.assume(&executor.pool, term, true, Some(tag)).is_err() {
                        return Ok(StepOutcome::Impossible);
                    }
                    let length = executor.packet_length();
                    if let Some(length) = length
                        && facts.at_least(&executor.pool, length).0 > u64::from(max_length)
                    {
                        return Ok(StepOutcome::Impossible);
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
                                return Ok(StepOutcome::Impossible);
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
        Ok(StepOutcome::Possible(Visit {
            untried,
            facts,
            conditions: self.conditions.terms.len(),
            model,
        }))
    }

    /// Finds the shortest packet that takes a complete path. `visit` is the last node of the path.
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
            // Keeps the values of the model and assigns all other inputs of the conditions.
            nearby_model(pool, &model, &self.conditions.terms, &domain)
        };
        let found = match visit.model.and_then(complete) {
            Some(model) => Some(model),
            // Only a prefix was undecided; the solver may still decide the complete path.
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
            // A guessed packet can exceed the maximum length.
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

    /// Learns a size lemma from the current path: a set of arcs that only packets of at least
    /// `shortest` bytes take together. The lemma explains why the path needs this length, and may
    /// apply to other paths as well.
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

    fn leave(&mut self) {
        if let Some(arc) = self.path.pop() {
            self.taken[arc.index()] = false;
        }
        self.steps.truncate(self.path.len());
    }

    /// Returns true if `term` is 1 under a model, and the model assigns every unknown of the term
    /// that cannot be zero. Unknowns without a value count as zero.
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
