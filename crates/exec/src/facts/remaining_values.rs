//! Checks whether a term that merges values from several paths still has a possible value. If each
//! merged value has only a few possibilities, conditions such as `x != 5` can exclude all
//! possibilities.

use super::fact::{Contradiction, Reasons, union};
use super::overlay::Overlay;
use slowpath_smt::{Node, TermId, TermPool};

/// Maximum number of possible values of a term that the check tries one by one.
const MANY: u64 = 256;

/// Maximum nesting of merged values that the check follows.
const DEPTH: u32 = 2;

/// Maximum number of operations with constants that the search for the base of a term removes.
const STEPS: usize = 4;

/// Returns the base of a term: the operand that remains after removing additions of constants,
/// constant high bits, and flips of constant bits. Different values of the base yield different
/// values of the term.
pub(super) fn base(pool: &TermPool, term: TermId) -> TermId {
    (0..STEPS).try_fold(term, |term, _| operand(pool, term).ok_or(term)).unwrap_or_else(|base| base)
}

/// Returns the operand of an operation that [`base`] removes from a term. Returns `None` for all
/// other terms.
fn operand(pool: &TermPool, term: TermId) -> Option<TermId> {
    match *pool.node(term) {
        Node::Concat(high, low) if pool.as_const(high).is_some() => Some(low),
        Node::Add(a, b) | Node::Xor(a, b) if pool.as_const(b).is_some() => Some(a),
        _ => None,
    }
}

/// Returns the value that a term has if its base has the given value.
fn computed(pool: &TermPool, term: TermId, base: TermId, value: u64) -> Option<u64> {
    if term == base {
        return Some(value);
    }
    let inner = computed(pool, operand(pool, term)?, base, value)?;
    let value = match *pool.node(term) {
        Node::Concat(high, low) => (pool.as_const(high)? << pool.width(low)) | inner,
        Node::Add(_, b) => inner.wrapping_add(pool.as_const(b)?),
        Node::Xor(_, b) => inner ^ pool.as_const(b)?,
        _ => return None,
    };
    Some(value & (u64::MAX >> (64 - u32::from(pool.width(term)))))
}

impl Overlay<'_> {
    /// Returns a contradiction if a merged term has no possible value left.
    pub(super) fn check_not_empty(
        &self,
        pool: &TermPool,
        term: TermId,
    ) -> Result<(), Contradiction> {
        if self.arms(term).is_none() {
            return Ok(());
        }
        let mut reasons = Reasons::new();
        match self.any_left(pool, term, &|_| true, &mut reasons, DEPTH) {
            true => Ok(()),
            false => Err(Contradiction { reasons }),
        }
    }

    /// Returns true if a term may still have a value that satisfies `wanted`. Otherwise adds to
    /// `reasons` the tags of the conditions that exclude all values.
    fn any_left(
        &self,
        pool: &TermPool,
        term: TermId,
        wanted: &dyn Fn(u64) -> bool,
        reasons: &mut Reasons,
        depth: u32,
    ) -> bool {
        let fact = self.fact(pool, term);
        *reasons = union(reasons, &fact.reasons());
        if fact.hi - fact.lo < MANY {
            return (fact.lo..=fact.hi).any(|value| fact.allows(value) && wanted(value));
        }
        let Some(arms) = self.arms(term).filter(|_| depth > 0) else { return true };
        arms.iter().any(|arm| {
            let of_base = self.fact(pool, arm.base);
            let (lo, hi) = (of_base.lo.max(arm.base_lo), of_base.hi.min(arm.base_hi));
            let wanted = |value: u64| {
                let result = computed(pool, arm.term, arm.base, value);
                result.is_none_or(|result| {
                    arm.lo <= result && result <= arm.hi && fact.allows(result) && wanted(result)
                })
            };
            if lo > hi {
                *reasons = union(reasons, &of_base.reasons());
                return false;
            }
            if hi - lo < MANY {
                *reasons = union(reasons, &of_base.reasons());
                return (lo..=hi).any(|value| of_base.allows(value) && wanted(value));
            }
            self.any_left(pool, arm.base, &wanted, reasons, depth - 1)
        })
    }
}
