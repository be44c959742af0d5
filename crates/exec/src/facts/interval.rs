//! What facts about its parts say about a term: intervals of sums and concatenations.

use super::fact::{Reasons, union};
use super::overlay::Overlay;
use slowpath_smt::{Node, TermId, TermPool};

/// Operators looked at for one term.
const MAX_PARTS: usize = 4_096;

/// An interval, with the reasons for its ends.
pub(super) struct Interval {
    pub lo: u64,
    pub lo_why: Reasons,
    pub hi: u64,
    pub hi_why: Reasons,
}

impl Overlay<'_> {
    /// The values that `term` can have, by the facts about it and about what it adds up or puts
    /// together. Sums count that cannot overflow whatever the facts.
    pub fn interval(&self, pool: &TermPool, term: TermId) -> Interval {
        let fact = self.fact(pool, term);
        let mut all =
            Interval { lo: fact.lo, lo_why: fact.lo_why, hi: fact.hi, hi_why: fact.hi_why };
        let mut parts = Interval { lo: 0, lo_why: Reasons::new(), hi: 0, hi_why: Reasons::new() };
        // Summands, and by how many bits each is shifted.
        let mut work = vec![(term, 0u8)];
        for _ in 0..MAX_PARTS {
            let Some((part, shift)) = work.pop() else {
                if parts.lo > all.lo {
                    (all.lo, all.lo_why) = (parts.lo, parts.lo_why);
                }
                if parts.hi < all.hi {
                    (all.hi, all.hi_why) = (parts.hi, parts.hi_why);
                }
                return all;
            };
            match *pool.node(part) {
                Node::Concat(high, low) => {
                    work.push((high, shift + pool.width(low)));
                    work.push((low, shift));
                }
                Node::Add(a, b) if !overflows(pool, a, b) => {
                    work.push((a, shift));
                    work.push((b, shift));
                }
                _ => {
                    let fact = self.fact(pool, part);
                    parts.lo = parts.lo.saturating_add(fact.lo << shift);
                    parts.hi = parts.hi.saturating_add(fact.hi << shift);
                    parts.lo_why = union(&parts.lo_why, &fact.lo_why);
                    parts.hi_why = union(&parts.hi_why, &fact.hi_why);
                }
            }
        }
        all
    }
}

/// Whether the sum of two terms may be more than fits their width.
pub(super) fn overflows(pool: &TermPool, a: TermId, b: TermId) -> bool {
    let greatest = pool.domain(a).hi().checked_add(pool.domain(b).hi());
    let width = u32::from(pool.width(a));
    greatest.is_none_or(|sum| sum > u64::MAX >> (64 - width))
}
