//! Collects changes of facts without applying them. If an added condition contradicts the original
//! facts, the original facts stay as they were.

use super::fact::{Arm, Fact, FactMap, Reasons};
use rustc_hash::FxHashMap as HashMap;
use slowpath_smt::{TermId, TermPool};

/// A set of facts, with changed facts that temporarily replace some of them.
pub(super) struct Overlay<'a> {
    pub base: &'a FactMap,
    pub changed: HashMap<TermId, Fact>,
}

impl<'a> Overlay<'a> {
    pub fn new(base: &'a FactMap) -> Self {
        Overlay { base, changed: HashMap::default() }
    }

    /// Returns the terms of which `term` equals one, if it merges values from several paths;
    /// otherwise `None`.
    pub fn arms(&self, term: TermId) -> Option<&[Arm]> {
        self.changed.get(&term).or_else(|| self.base.get(&term))?.arms.as_deref()
    }

    /// Returns the fact about a term. If the set contains no fact about it, returns the bounds that
    /// always hold for the term.
    pub fn fact(&self, pool: &TermPool, term: TermId) -> Fact {
        if let Some(fact) = self.changed.get(&term).or_else(|| self.base.get(&term)) {
            return fact.clone();
        }
        let domain = pool.domain(term);
        Fact {
            lo: domain.lo(),
            lo_why: Reasons::new(),
            hi: domain.hi(),
            hi_why: Reasons::new(),
            zeros: domain.zeros(),
            ones: domain.ones(),
            bits: Vec::new(),
            implies: Vec::new(),
            holes: None,
            arms: None,
        }
    }
}
