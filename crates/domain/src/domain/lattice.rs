//! Implements the lattice operations of abstract interpretation (Cousot and Cousot, POPL 1977):
//! join, meet, and widening with thresholds.

use super::half::Half;
use super::{Domain, mask};

impl Domain {
    /// Returns a domain that contains all members of both domains, which must have the same width.
    pub fn join(&self, other: &Domain) -> Domain {
        debug_assert_eq!(self.width, other.width);
        if self == other {
            return *self;
        }
        let ((positive, negative), (others, other_negative)) = (self.halves(), other.halves());
        Self::from_halves(
            self.width,
            self.zeros & other.zeros,
            self.ones & other.ones,
            Half::hull(positive, others),
            Half::hull(negative, other_negative),
        )
        .unwrap_or(Self::full(self.width))
    }

    /// Returns the domain of the values that are in both domains, or `None` if there are none. The
    /// widths must be equal.
    pub fn meet(&self, other: &Domain) -> Option<Domain> {
        debug_assert_eq!(self.width, other.width);
        if self == other {
            return Some(*self);
        }
        let ((positive, negative), (others, other_negative)) = (self.halves(), other.halves());
        Self::from_halves(
            self.width,
            self.zeros | other.zeros,
            self.ones | other.ones,
            Half::common_values(positive, others),
            Half::common_values(negative, other_negative),
        )
    }

    /// Returns the domain without `value` if `value` is the first or last member of one of the
    /// domain's intervals. Otherwise returns the domain unchanged. Returns `None` if no member
    /// remains.
    pub fn without(&self, value: u64) -> Option<Domain> {
        let trimmed = |half: Option<Half>| {
            let half = half?;
            match (half.lo == value, half.hi == value) {
                (true, true) => None,
                (true, false) => Half::new(half.lo + 1, half.hi),
                (false, true) => Half::new(half.lo, half.hi - 1),
                (false, false) => Some(half),
            }
        };
        let (positive, negative) = self.halves();
        Self::from_halves(self.width, self.zeros, self.ones, trimmed(positive), trimmed(negative))
    }

    /// Returns a domain that contains all members of both domains. The result of repeated widening,
    /// `x = x.widen(&next)`, stops changing after few steps. If `next` exceeds a bound, the bound
    /// moves outwards to the next of the sorted `thresholds`, or to the end of the range.
    pub fn widen(&self, next: &Domain, thresholds: &[u64]) -> Domain {
        let joined = self.join(next);
        if joined == *self {
            return joined;
        }
        let top = 1u64 << (self.width - 1);
        let ((positive, negative), (old, old_negative)) = (joined.halves(), self.halves());
        let moved = |new: Option<Half>, old: Option<Half>, least, greatest| {
            let (new, old) = (new?, old);
            let lo = match old {
                Some(old) if old.lo <= new.lo => old.lo,
                _ => at_or_below(thresholds, new.lo).map_or(least, |t| t.max(least)),
            };
            let hi = match old {
                Some(old) if old.hi >= new.hi => old.hi,
                _ => at_or_above(thresholds, new.hi).map_or(greatest, |t| t.min(greatest)),
            };
            Half::new(lo, hi)
        };
        Self::from_halves(
            self.width,
            joined.zeros,
            joined.ones,
            moved(positive, old, 0, top - 1),
            moved(negative, old_negative, top, mask(self.width)),
        )
        .unwrap_or(Self::full(self.width))
    }
}

fn at_or_below(thresholds: &[u64], value: u64) -> Option<u64> {
    let above = thresholds.partition_point(|&t| t <= value);
    above.checked_sub(1).map(|place| thresholds[place])
}

fn at_or_above(thresholds: &[u64], value: u64) -> Option<u64> {
    thresholds.get(thresholds.partition_point(|&t| t < value)).copied()
}
