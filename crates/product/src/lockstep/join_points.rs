//! Points at which runs of both programs are joined, and the conditions that are known there.
//!
//! Each incoming path of a join point has a selector: an unknown that is 1 if the path is taken.
//! After a join point, values that differ between its paths are choices by selectors, not by the
//! conditions of the paths. The solver gets the clauses that tie selectors to these conditions only
//! if it cannot decide without them.

use slowpath_smt::{Domain, TermId, TermPool};
use std::collections::BTreeSet;

/// Index of a join point in [`JoinPoints`]; 0 is the start of the programs.
pub(super) type JoinPointId = usize;

struct JoinPoint {
    /// Selector: a term that is 1 if a run reaches this join point.
    reached: TermId,
    /// Earlier join points, at which the paths into this one begin.
    before: Vec<JoinPointId>,
    /// Conditions that hold in all runs that reach this join point.
    sure: BTreeSet<TermId>,
    /// Clauses that tie the selectors of the incoming paths to the conditions of these paths.
    clauses: Vec<TermId>,
}

/// An incoming path of a join point.
pub(super) struct IncomingPath<'a> {
    pub from: JoinPointId,
    /// Conditions that hold on this path, from the join point at which it begins.
    pub conditions: &'a [TermId],
}

/// All join points so far, indexed by [`JoinPointId`].
pub(super) struct JoinPoints(Vec<JoinPoint>);

impl JoinPoints {
    /// Creates a list of join points that contains only the start of the programs, where
    /// `conditions` hold.
    pub fn new(pool: &mut TermPool, conditions: &[TermId]) -> Self {
        let start = JoinPoint {
            reached: pool.bool(true),
            before: Vec::new(),
            sure: conditions.iter().copied().collect(),
            clauses: Vec::new(),
        };
        JoinPoints(vec![start])
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds a join point (a point at which runs of both programs are joined). Returns its index,
    /// and a selector for each incoming path: a term that is 1 if the path is taken.
    pub fn add(
        &mut self,
        pool: &mut TermPool,
        incoming: &[IncomingPath<'_>],
    ) -> (JoinPointId, Vec<TermId>) {
        let reached = pool.var("reached", Domain::full(1));
        let selectors: Vec<TermId> =
            incoming.iter().map(|_| pool.var("way", Domain::full(1))).collect();
        let not_reached = pool.not(reached);
        let some = selectors.iter().fold(not_reached, |any, &one| pool.or(any, one));
        let mut clauses = vec![some];
        let mut sure: Option<BTreeSet<TermId>> = None;
        for (path, &selector) in incoming.iter().zip(&selectors) {
            let other = pool.not(selector);
            let before = self.0[path.from].reached;
            for &condition in path.conditions.iter().chain([&before]) {
                clauses.push(pool.or(other, condition));
            }
            let here = |term: &TermId| {
                path.conditions.contains(term) || self.0[path.from].sure.contains(term)
            };
            match &mut sure {
                Some(sure) => sure.retain(here),
                None => {
                    let all = self.0[path.from].sure.iter().chain(path.conditions);
                    sure = Some(all.copied().collect());
                }
            }
        }
        clauses.retain(|&clause| pool.as_const(clause) != Some(1));
        let before: BTreeSet<JoinPointId> = incoming.iter().map(|path| path.from).collect();
        let before = before.into_iter().collect();
        self.0.push(JoinPoint { reached, before, sure: sure.unwrap_or_default(), clauses });
        (self.0.len() - 1, selectors)
    }

    /// Returns the conditions that hold in all runs that reach a join point.
    pub fn sure(&self, at: JoinPointId) -> impl Iterator<Item = TermId> {
        self.0[at].sure.iter().copied()
    }

    /// Returns the term that is 1 if a run reaches the join point.
    pub fn reached(&self, at: JoinPointId) -> TermId {
        self.0[at].reached
    }

    /// Returns all known conditions on runs that reach a join point: its own clauses and those of
    /// earlier join points.
    pub fn known(&self, at: JoinPointId) -> Vec<TermId> {
        let mut known: Vec<TermId> = self.sure(at).collect();
        known.push(self.reached(at));
        let (mut seen, mut open) = (BTreeSet::from([at]), vec![at]);
        while let Some(next) = open.pop() {
            known.extend(&self.0[next].clauses);
            open.extend(self.0[next].before.iter().filter(|&&before| seen.insert(before)));
        }
        known
    }
}
