//! Facts while a condition is added: it may turn out to contradict them, and then nothing has changed.

use super::fact::{Arm, Fact, FactMap, Reasons};
use rustc_hash::FxHashMap as HashMap;
use slowpath_smt::{TermId, TermPool};

/// Facts with some of them replaced.
pub(super) struct Overlay<'a> {
    pub base: &'a FactMap,
    pub changed: HashMap<TermId, Fact>,
}

impl<'a> Overlay<'a> {
    /// Facts of which none is replaced yet.
    pub fn new(base: &'a FactMap) -> Self {
        Overlay { base, changed: HashMap::default() }
    }

    /// The terms that a merged value may be.
    pub fn arms(&self, term: TermId) -> Option<&[Arm]> {
        self.changed.get(&term).or_else(|| self.base.get(&term))?.arms.as_deref()
    }

    /// What is known about a term; if nothing, what the term itself says.
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
