//! Computes the interval of a term from facts about its operands, for sums and concatenations.

use super::fact::{Reasons, union};
use super::overlay::Overlay;
use slowpath_smt::{Node, TermId, TermPool};

/// Maximum number of operators that the analysis visits in one term.
const MAX_PARTS: usize = 4_096;

/// Maximum depth of nested choices and extractions that the analysis follows.
const DEPTH: u32 = 3;

/// An interval, with the conditions from which its lower and its upper end follow.
pub(super) struct Interval {
    pub lo: u64,
    pub lo_why: Reasons,
    pub hi: u64,
    pub hi_why: Reasons,
}

impl Overlay<'_> {
    /// Returns the interval of `term` that follows from the facts about the term and its operands.
    /// Uses the summands of a sum only if the sum cannot overflow.
    pub fn interval(&self, pool: &TermPool, term: TermId) -> Interval {
        let mut all = self.own(pool, term);
        let mut parts = Interval::without_reasons(0, 0);
        // Summands, each with the number of bits by which it is shifted.
        let mut work = vec![(term, 0u8)];
        for _ in 0..MAX_PARTS {
            let Some((part, shift)) = work.pop() else {
                all.narrow(parts);
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
                    let leaf = self.leaf(pool, part, None, DEPTH);
                    parts.lo = parts.lo.saturating_add(leaf.lo << shift);
                    parts.hi = parts.hi.saturating_add(leaf.hi << shift);
                    parts.lo_why = union(&parts.lo_why, &leaf.lo_why);
                    parts.hi_why = union(&parts.hi_why, &leaf.hi_why);
                }
            }
        }
        all
    }

    /// Returns the interval that the recorded fact about a term gives, without using the term's
    /// operands.
    fn own(&self, pool: &TermPool, term: TermId) -> Interval {
        let fact = self.fact(pool, term);
        Interval { lo: fact.lo, lo_why: fact.lo_why, hi: fact.hi, hi_why: fact.hi_why }
    }

    /// Returns the interval of a term that follows from its fact and from the operands of
    /// concatenations, extractions and choices, down to the given depth. If `condition` is given,
    /// the interval holds only where this condition has the given truth value.
    fn leaf(
        &self,
        pool: &TermPool,
        term: TermId,
        condition: Option<(TermId, bool)>,
        depth: u32,
    ) -> Interval {
        let mut all = self.own(pool, term);
        if let Some((condition, value)) = condition {
            all.narrow(given(pool, condition, value, term));
        }
        if depth == 0 {
            return all;
        }
        match *pool.node(term) {
            Node::Var(_) => {
                let Some(arms) = self.arms(term) else { return all };
                let bounded = arms.iter().map(|arm| {
                    let mut bounded = self.leaf(pool, arm.term, None, depth - 1);
                    bounded.narrow(Interval::without_reasons(arm.lo, arm.hi));
                    bounded
                });
                if let Some(arms) = bounded.reduce(Interval::join) {
                    all.narrow(arms);
                }
            }
            Node::Ite(condition, then, otherwise) => {
                let then = self.leaf(pool, then, Some((condition, true)), depth - 1);
                let otherwise = self.leaf(pool, otherwise, Some((condition, false)), depth - 1);
                all.narrow(then.join(otherwise));
            }
            Node::Concat(high, low) => {
                let shift = pool.width(low);
                let high = self.leaf(pool, high, condition, depth - 1);
                let low = self.leaf(pool, low, condition, depth - 1);
                all.narrow(Interval {
                    lo: (high.lo << shift) | low.lo,
                    lo_why: union(&high.lo_why, &low.lo_why),
                    hi: (high.hi << shift) | low.hi,
                    hi_why: union(&high.hi_why, &low.hi_why),
                });
            }
            Node::Extract { src, lo } => {
                let whole = self.leaf(pool, src, condition, depth - 1);
                // The bounds carry over only if all bits above the extracted bits are zero.
                if whole.hi.checked_shr((lo + pool.width(term)).into()).unwrap_or(0) == 0 {
                    let lo_why = union(&whole.lo_why, &whole.hi_why);
                    all.narrow(Interval {
                        lo: whole.lo >> lo,
                        lo_why,
                        hi: whole.hi >> lo,
                        hi_why: whole.hi_why,
                    });
                }
            }
            _ => {}
        }
        all
    }
}

impl Interval {
    fn narrow(&mut self, other: Interval) {
        if other.lo > self.lo {
            (self.lo, self.lo_why) = (other.lo, other.lo_why);
        }
        if other.hi < self.hi {
            (self.hi, self.hi_why) = (other.hi, other.hi_why);
        }
    }

    fn join(self, other: Interval) -> Interval {
        Interval {
            lo: self.lo.min(other.lo),
            lo_why: union(&self.lo_why, &other.lo_why),
            hi: self.hi.max(other.hi),
            hi_why: union(&self.hi_why, &other.hi_why),
        }
    }

    fn without_reasons(lo: u64, hi: u64) -> Interval {
        Interval { lo, lo_why: Reasons::new(), hi, hi_why: Reasons::new() }
    }
}

/// Returns the interval of `term` in runs where `condition` has the truth value `value`. If the
/// condition does not compare the term with a constant, the interval has no bounds.
fn given(pool: &TermPool, condition: TermId, value: bool, term: TermId) -> Interval {
    let mut all = Interval { lo: 0, lo_why: Reasons::new(), hi: u64::MAX, hi_why: Reasons::new() };
    match *pool.node(condition) {
        Node::Not(inner) => return given(pool, inner, !value, term),
        Node::Ult(a, b) => match (pool.as_const(a), pool.as_const(b)) {
            (None, Some(most)) if a == term && value => all.hi = most.saturating_sub(1),
            (None, Some(least)) if a == term => all.lo = least,
            (Some(most), None) if b == term && !value => all.hi = most,
            (Some(least), None) if b == term => all.lo = least.saturating_add(1),
            _ => {}
        },
        _ => {}
    }
    all
}

/// Returns true if the sum of two terms may exceed the largest number of their width.
pub(super) fn overflows(pool: &TermPool, a: TermId, b: TermId) -> bool {
    let greatest = pool.domain(a).hi().checked_add(pool.domain(b).hi());
    let width = u32::from(pool.width(a));
    greatest.is_none_or(|sum| sum > u64::MAX >> (64 - width))
}
