//! Derives facts about terms from branch conditions: the interval and the known bits of each term.
//! Each fact names the conditions that it follows from.
//!
//! Facts reveal most contradictions without a solver, and name the few conditions that cause each
//! contradiction. They also give the minimum packet length that a path needs. Facts are incomplete
//! by design: if they find no contradiction, the conditions may still contradict each other.
//!
//! Facts are persistent: the states of many paths share their common part. Copies are free, and a
//! merge only looks at changes after the point where the paths diverged. Facts of a single path
//! ([`Facts::of_path`]) keep no changes for merges.

mod assume;
mod fact;
mod interval;
mod overlay;
mod remaining_values;

pub use fact::{Contradiction, Reasons};

use fact::{Arm, Fact, FactMap};
use overlay::Overlay;
use slowpath_smt::{Domain, TermId, TermPool};

use std::rc::Rc;

/// Maximum number of different values that a fact about a merged value lists. If paths with more
/// values meet, the fact does not list them.
const MAX_ARMS: usize = 4;

/// A set of facts about terms (intervals and known bits) that hold together.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    map: FactMap,
    history: Option<Rc<Change>>,
    /// True for facts about a single path, which are never merged, so no history is kept.
    is_of_path: bool,
}

/// An entry of a history of facts: one added fact, with a link to the entry before it.
#[derive(Debug)]
struct Change {
    term: TermId,
    /// All facts in the set after this change.
    after: FactMap,
    depth: u32,
    before: Option<Rc<Change>>,
    /// A link to an earlier entry of the history. From any entry, a logarithmic number of links
    /// leads to any earlier one (Myers, "An applicative random-access stack", 1983).
    jump: Option<Rc<Change>>,
}

impl Drop for Change {
    /// Drops the chain of entries in a loop, because recursion would exhaust the stack for long
    /// histories.
    fn drop(&mut self) {
        // Changes between this one and the target of the jump still hold the target.
        self.jump = None;
        let mut next = self.before.take();
        while let Some(change) = next {
            match Rc::try_unwrap(change) {
                Ok(mut change) => {
                    change.jump = None;
                    next = change.before.take();
                }
                Err(_) => break,
            }
        }
    }
}

impl Facts {
    /// Returns the empty set of facts.
    pub fn new() -> Self {
        Facts::default()
    }

    /// Returns the empty set of facts about a single path. Adding facts to this set is faster,
    /// because it changes the set in place. [`join`](Self::join) of sets of this kind yields no
    /// facts.
    pub fn of_path() -> Self {
        Facts { is_of_path: true, ..Facts::default() }
    }

    fn get(&self, term: TermId) -> Option<&Fact> {
        self.map.get(&term)
    }

    fn insert(&mut self, term: TermId, fact: Fact) {
        self.map.insert_mut(term, fact);
        if self.is_of_path {
            return;
        }
        let (after, before) = (self.map.clone(), self.history.take());
        let depth = depth(&before) + 1;
        let jump = before.as_ref().and_then(|before| {
            let further = self::depth(&before.jump);
            let furthest = before.jump.as_ref().map_or(0, |change| self::depth(&change.jump));
            let even = before.depth - further == further - furthest;
            if even { before.jump.as_ref()?.jump.clone() } else { Some(Rc::clone(before)) }
        });
        self.history = Some(Rc::new(Change { term, after, depth, before, jump }));
    }

    /// Returns the value of `term` if the facts allow only one value; otherwise `None`.
    pub fn constant(&self, term: TermId) -> Option<u64> {
        let fact = self.get(term)?;
        (fact.lo == fact.hi).then_some(fact.lo)
    }

    /// Returns the smallest value that the facts allow for `term`, and the tags of the conditions
    /// from which this bound follows.
    pub fn at_least(&self, pool: &TermPool, term: TermId) -> (u64, Reasons) {
        let plain = pool.domain(term).lo();
        match self.get(term) {
            Some(fact) if fact.lo > plain => (fact.lo, fact.lo_why.clone()),
            _ => (plain, Reasons::new()),
        }
    }

    /// Returns a set that contains all values that the facts allow for `term`.
    pub fn domain(&self, pool: &TermPool, term: TermId) -> Domain {
        let plain = pool.domain(term);
        let Some(fact) = self.get(term) else { return plain };
        let (zeros, ones) = (plain.zeros() | fact.zeros, plain.ones() | fact.ones);
        let (lo, hi) = (plain.lo().max(fact.lo), plain.hi().min(fact.hi));
        Domain::reduced(plain.width(), zeros, ones, lo, hi).unwrap_or(plain)
    }

    /// Returns the truth value of a 1-bit term if the facts determine it; otherwise `None`.
    pub fn decide(&self, pool: &TermPool, condition: TermId) -> Option<bool> {
        let possible = |value| {
            let mut overlay = Overlay::new(&self.map);
            overlay.assume(pool, condition, value, &Reasons::new()).is_ok()
        };
        match (possible(true), possible(false)) {
            (false, true) => Some(false),
            (true, false) => Some(true),
            _ => None,
        }
    }

    /// Adds the fact that the 1-bit `condition` has `value`. The number `tag` names this condition
    /// in contradictions.
    ///
    /// # Errors
    ///
    /// The tags of conditions that contradict each other.
    pub fn assume(
        &mut self,
        pool: &TermPool,
        condition: TermId,
        value: bool,
        tag: Option<u32>,
    ) -> Result<(), Contradiction> {
        let why: Reasons = tag.into_iter().collect();
        let mut overlay = Overlay::new(&self.map);
        overlay.assume(pool, condition, value, &why)?;
        for (term, fact) in overlay.changed {
            self.insert(term, fact);
        }
        Ok(())
    }

    /// Adds the fact that `merged`, a value where paths meet, equals one of the `values`. The value
    /// with index `i` comes from the path with the facts `ways[i]`.
    pub fn merge(&mut self, pool: &TermPool, merged: TermId, values: &[TermId], ways: &[&Facts]) {
        if values.len() > MAX_ARMS || values.iter().all(|&value| pool.as_const(value).is_some()) {
            return;
        }
        let arms = ways.iter().zip(values).map(|(way, &term)| {
            let way = Overlay::new(&way.map);
            let (bounds, base) = (way.interval(pool, term), remaining_values::base(pool, term));
            let of_base = way.interval(pool, base);
            let (base_lo, base_hi) = (of_base.lo, of_base.hi);
            Arm { term, lo: bounds.lo, hi: bounds.hi, base, base_lo, base_hi }
        });
        let arms: Rc<[Arm]> = arms.collect();
        let mut fact = Overlay::new(&self.map).fact(pool, merged);
        fact.arms = Some(arms);
        self.insert(merged, fact);
    }

    /// Returns the facts that hold on all of the given paths. The result does not name the
    /// conditions from which these facts follow.
    pub fn join(ways: &[&Facts]) -> Facts {
        let Some((first, others)) = ways.split_first() else { return Facts::new() };
        let shared = others
            .iter()
            .fold(first.history.as_ref(), |shared, facts| common(shared, facts.history.as_ref()));
        let parted = shared.map_or(0, |change| change.depth);
        let mut joined = match shared {
            Some(change) => {
                Facts { map: change.after.clone(), history: shared.cloned(), is_of_path: false }
            }
            None => Facts::new(),
        };
        let Some(least) = ways.iter().min_by_key(|facts| depth(&facts.history)) else {
            return joined;
        };
        let changes = std::iter::successors(least.history.as_deref(), |c| c.before.as_deref());
        let mut terms: Vec<TermId> =
            changes.take_while(|change| change.depth > parted).map(|change| change.term).collect();
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let mut everywhere = ways.iter().map(|facts| facts.get(term));
            let first = everywhere.next().flatten().cloned();
            let fact = first.and_then(|first| {
                everywhere.try_fold(first, |all, fact| fact.map(|fact| all.join(fact)))
            });
            if let Some(fact) = fact {
                joined.insert(term, fact);
            }
        }
        joined
    }
}

fn depth(history: &Option<Rc<Change>>) -> u32 {
    history.as_ref().map_or(0, |change| change.depth)
}

/// Returns the latest entry that is part of both histories of facts, or `None` if there is none.
fn common<'a>(
    mut a: Option<&'a Rc<Change>>,
    mut b: Option<&'a Rc<Change>>,
) -> Option<&'a Rc<Change>> {
    loop {
        let (mut deep, mut other) = (a?, b?);
        if Rc::ptr_eq(deep, other) {
            return Some(deep);
        }
        if deep.depth < other.depth {
            std::mem::swap(&mut deep, &mut other);
        }
        let (further, others) = (deep.jump.as_ref(), other.jump.as_ref());
        let same = match (further, others) {
            (Some(further), Some(others)) => Rc::ptr_eq(further, others),
            (further, others) => further.is_none() && others.is_none(),
        };
        (a, b) = if depth(&deep.jump) >= other.depth {
            (further, Some(other))
        } else if deep.depth > other.depth || same {
            (deep.before.as_ref(), Some(other))
        } else {
            (further, others)
        };
    }
}

#[cfg(test)]
mod tests;
