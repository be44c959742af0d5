//! What branch conditions say about terms: intervals and known bits, each with its reasons.
//!
//! Decides most contradictions without a solver, names the few conditions behind each, and yields
//! the least packet length that a path needs. Incomplete by design: "no contradiction found" says
//! nothing.
//!
//! Facts are persistent: states of many paths share what they have in common, so that copies cost
//! nothing and merges look only at what happened since the ways parted.

mod assume;
mod fact;

pub use fact::Reasons;

use assume::Overlay;
use fact::Fact;
use rpds::HashTrieMap;
use slowpath_smt::{TermId, TermPool};
use std::collections::HashMap;
use std::rc::Rc;

/// Facts about terms, all of which hold together.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    map: HashTrieMap<TermId, Fact>,
    history: Option<Rc<Change>>,
}

/// One fact added, after the ones before it.
#[derive(Debug)]
struct Change {
    term: TermId,
    /// All facts with this one.
    after: HashTrieMap<TermId, Fact>,
    depth: u32,
    before: Option<Rc<Change>>,
}

impl Drop for Change {
    /// Iterative, so that long histories do not exhaust the stack.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(change) = next {
            match Rc::try_unwrap(change) {
                Ok(mut change) => next = change.before.take(),
                Err(_) => break,
            }
        }
    }
}

/// Conditions that cannot hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The tags of the conditions.
    pub reasons: Reasons,
}

/// Up to this many ways are merged by looking at their histories.
const FEW_WAYS: usize = 8;

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Facts::default()
    }

    fn get(&self, term: TermId) -> Option<&Fact> {
        self.map.get(&term)
    }

    fn insert(&mut self, term: TermId, fact: Fact) {
        self.map.insert_mut(term, fact);
        let depth = self.history.as_ref().map_or(1, |change| change.depth + 1);
        let (after, before) = (self.map.clone(), self.history.take());
        self.history = Some(Rc::new(Change { term, after, depth, before }));
    }

    /// The only value that the facts leave for `term`, if they leave one.
    pub fn constant(&self, term: TermId) -> Option<u64> {
        let fact = self.get(term)?;
        (fact.lo == fact.hi).then_some(fact.lo)
    }

    /// The least value that `term` can have, with the reasons for it.
    pub fn at_least(&self, pool: &TermPool, term: TermId) -> (u64, Reasons) {
        let plain = pool.domain(term).lo();
        match self.get(term) {
            Some(fact) if fact.lo > plain => (fact.lo, fact.lo_why.clone()),
            _ => (plain, Reasons::new()),
        }
    }

    /// The truth of a 1-bit term, if the facts decide it.
    pub fn decide(&self, pool: &TermPool, condition: TermId) -> Option<bool> {
        let possible = |value| {
            let mut overlay = Overlay { base: self, changed: HashMap::new() };
            overlay.assume(pool, condition, value, &Reasons::new()).is_ok()
        };
        match (possible(true), possible(false)) {
            (false, true) => Some(false),
            (true, false) => Some(true),
            _ => None,
        }
    }

    /// Adds the fact that the 1-bit `condition` has `value`, for the reason `tag`.
    ///
    /// # Errors
    /// The conditions, `tag` among them, that cannot hold together.
    pub fn assume(
        &mut self,
        pool: &TermPool,
        condition: TermId,
        value: bool,
        tag: Option<u32>,
    ) -> Result<(), Contradiction> {
        let why: Reasons = tag.into_iter().collect();
        let mut overlay = Overlay { base: self, changed: HashMap::new() };
        overlay.assume(pool, condition, value, &why)?;
        for (term, fact) in overlay.changed {
            self.insert(term, fact);
        }
        Ok(())
    }

    /// Facts that hold on every one of several ways to a place, without reasons.
    pub fn join(ways: &[&Facts]) -> Facts {
        let Some(least) = ways.iter().min_by_key(|facts| facts.map.size()) else {
            return Facts::new();
        };
        let mut joined = Facts::new();
        let candidates: Vec<TermId> = if ways.len() <= FEW_WAYS {
            let shared = ways
                .iter()
                .fold(least.history.clone(), |shared, facts| common(shared, facts.history.clone()));
            if let Some(change) = &shared {
                joined = Facts { map: change.after.clone(), history: shared.clone() };
            }
            let parted = shared.map_or(0, |change| change.depth);
            let changes = std::iter::successors(least.history.as_deref(), |c| c.before.as_deref());
            changes.take_while(|change| change.depth > parted).map(|change| change.term).collect()
        } else {
            least.map.keys().copied().collect()
        };
        for term in candidates {
            let mut everywhere = ways.iter().map(|facts| facts.get(term));
            let first = everywhere.next().flatten().cloned();
            let fact = everywhere.try_fold(first, |all, fact| Some(Some(all?.join(fact?))));
            if let Some(Some(fact)) = fact {
                joined.insert(term, fact);
            }
        }
        joined
    }
}

/// The latest change that two histories share.
fn common(mut a: Option<Rc<Change>>, mut b: Option<Rc<Change>>) -> Option<Rc<Change>> {
    loop {
        let (left, right) = (a.as_ref()?, b.as_ref()?);
        if Rc::ptr_eq(left, right) {
            return a;
        }
        if left.depth >= right.depth {
            a = left.before.clone();
        } else {
            b = right.before.clone();
        }
    }
}
