//! Conditions that cannot hold because of what facts say about their parts, however deep.

use super::fact::{Reasons, union};
use super::{Contradiction, Facts};
use rustc_hash::FxHashMap as HashMap;
use slowpath_smt::{Domain, TermId, TermPool};

impl Facts {
    /// Looks for one of `conditions`, all of which the facts take to hold, that cannot: what is known
    /// about the parts of each is passed up through its operators.
    ///
    /// Linear in the size of the conditions. The reasons are all that is known about the parts.
    ///
    /// # Errors
    /// The first one that cannot hold.
    pub fn evaluate(&self, pool: &TermPool, conditions: &[TermId]) -> Result<(), Contradiction> {
        let mut known: HashMap<TermId, Domain> = HashMap::default();
        for &condition in conditions {
            let mut work = vec![condition];
            while let Some(&term) = work.last() {
                if known.contains_key(&term) {
                    work.pop();
                    continue;
                }
                let pending = work.len();
                work.extend(pool.children(term).filter(|child| !known.contains_key(child)));
                if work.len() > pending {
                    continue;
                }
                let fact = self.domain(pool, term);
                let operand = |child| known.get(&child).copied().unwrap_or(pool.domain(child));
                let Some(domain) = meet(fact, pool.domain_from(term, operand)) else {
                    return Err(Contradiction { reasons: self.reasons(pool, term) });
                };
                known.insert(term, domain);
                work.pop();
            }
        }
        Ok(())
    }

    /// The reasons for all that is known about a term and its parts.
    fn reasons(&self, pool: &TermPool, term: TermId) -> Reasons {
        let facts = pool.subterms(&[term]).into_iter().filter_map(|part| self.get(part));
        facts.fold(Reasons::new(), |all, fact| {
            let ends = union(&fact.lo_why, &fact.hi_why);
            union(&all, &union(&ends, &fact.why_bits(u64::MAX)))
        })
    }
}

/// The values in both of two domains; `None` when there are none.
fn meet(a: Domain, b: Domain) -> Option<Domain> {
    let (zeros, ones) = (a.zeros() | b.zeros(), a.ones() | b.ones());
    let (lo, hi) = (a.lo().max(b.lo()), a.hi().min(b.hi()));
    Domain::reduced(a.width(), zeros, ones, lo, hi)
}
