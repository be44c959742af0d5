//! Where runs of both programs meet, and what is known of how they got there.
//!
//! Which way was taken to a meeting is an unknown of its own for each way, a selector. So values
//! behind it are choices by selectors, whatever the conditions of the ways are; these are told to the
//! solver only where it cannot do without.

use slowpath_smt::{Domain, TermId, TermPool};
use std::collections::BTreeSet;

/// Number of a meeting; the first is the start.
pub(super) type MeetingId = usize;

struct Meeting {
    /// 1 in runs that come here.
    reached: TermId,
    /// The meetings that ways come from.
    before: Vec<MeetingId>,
    /// What holds in all runs that come here.
    sure: BTreeSet<TermId>,
    /// What ties selectors to the ways that they stand for.
    clauses: Vec<TermId>,
}

/// A way to a meeting.
pub(super) struct Way<'a> {
    pub from: MeetingId,
    /// What holds on it since.
    pub conditions: &'a [TermId],
}

/// All meetings so far.
pub(super) struct Meetings(Vec<Meeting>);

impl Meetings {
    /// Only the start, where these conditions hold.
    pub fn new(pool: &mut TermPool, conditions: &[TermId]) -> Self {
        let start = Meeting {
            reached: pool.bool(true),
            before: Vec::new(),
            sure: conditions.iter().copied().collect(),
            clauses: Vec::new(),
        };
        Meetings(vec![start])
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A new meeting with a selector for each way, and these selectors.
    pub fn add(&mut self, pool: &mut TermPool, ways: &[Way<'_>]) -> (MeetingId, Vec<TermId>) {
        let reached = pool.var("reached", Domain::full(1));
        let selectors: Vec<TermId> =
            ways.iter().map(|_| pool.var("way", Domain::full(1))).collect();
        let not_reached = pool.not(reached);
        let some = selectors.iter().fold(not_reached, |any, &one| pool.or(any, one));
        let mut clauses = vec![some];
        let mut sure: Option<BTreeSet<TermId>> = None;
        for (way, &selector) in ways.iter().zip(&selectors) {
            let other = pool.not(selector);
            let before = self.0[way.from].reached;
            for &condition in way.conditions.iter().chain([&before]) {
                clauses.push(pool.or(other, condition));
            }
            let here = |term: &TermId| {
                way.conditions.contains(term) || self.0[way.from].sure.contains(term)
            };
            match &mut sure {
                Some(sure) => sure.retain(here),
                None => {
                    let all = self.0[way.from].sure.iter().chain(way.conditions);
                    sure = Some(all.copied().collect());
                }
            }
        }
        clauses.retain(|&clause| pool.as_const(clause) != Some(1));
        let before: BTreeSet<MeetingId> = ways.iter().map(|way| way.from).collect();
        let before = before.into_iter().collect();
        self.0.push(Meeting { reached, before, sure: sure.unwrap_or_default(), clauses });
        (self.0.len() - 1, selectors)
    }

    /// What holds on all ways to a meeting.
    pub fn sure(&self, at: MeetingId) -> impl Iterator<Item = TermId> {
        self.0[at].sure.iter().copied()
    }

    /// 1 in runs that come to a meeting.
    pub fn reached(&self, at: MeetingId) -> TermId {
        self.0[at].reached
    }

    /// All that is known of runs that come to a meeting.
    pub fn known(&self, at: MeetingId) -> Vec<TermId> {
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
