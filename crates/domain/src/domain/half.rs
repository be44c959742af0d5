//! An interval of values of the same sign. Such values have the same order as unsigned and as
//! signed numbers, so one pair of bounds serves both.

/// The values from `lo` to `hi`; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    pub lo: u64,
    pub hi: u64,
}

impl Half {
    /// Returns the values between two bounds, both included, or `None` if there are none.
    pub fn new(lo: u64, hi: u64) -> Option<Self> {
        (lo <= hi).then_some(Half { lo, hi })
    }

    /// Returns the smallest interval around the members that have these bits, or `None` if no
    /// member does. Both bounds have the bits.
    pub fn with_bits(self, zeros: u64, ones: u64, mask: u64) -> Option<Self> {
        if zeros & ones != 0 {
            return None;
        }
        let lo = least_at_or_above(self.lo, zeros, ones, mask)?;
        // Complementing reverses the order, so the greatest value below `hi` becomes the least
        // above `!hi`.
        let hi = !least_at_or_above(!self.hi & mask, ones, zeros, mask)? & mask;
        Half::new(lo, hi)
    }

    /// Returns the mask of the bits that all members share: those above the highest bit in which
    /// the bounds differ.
    pub fn common(self, mask: u64) -> u64 {
        match self.lo ^ self.hi {
            0 => mask,
            differing => mask & !(u64::MAX >> differing.leading_zeros()),
        }
    }

    /// Returns the smallest interval around both.
    pub fn hull(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Half { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }),
            (one, None) | (None, one) => one,
        }
    }

    /// Returns the intersection.
    pub fn common_values(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (a, b) = (a?, b?);
        Half::new(a.lo.max(b.lo), a.hi.min(b.hi))
    }
}

/// Returns the least value at or above `lo` that has the known bits.
fn least_at_or_above(lo: u64, zeros: u64, ones: u64, mask: u64) -> Option<u64> {
    if lo & !mask != 0 {
        return None;
    }
    let conflict = (lo & zeros) | (!lo & ones);
    if conflict == 0 {
        return Some(lo);
    }
    let highest = 1u64 << (63 - conflict.leading_zeros());
    // The bit to raise from 0 to 1. That is the conflicting bit if it must be 1, else the next
    // higher bit that is neither set nor known to be zero.
    let raised = if ones & highest != 0 {
        highest
    } else {
        let candidates = !lo & !zeros & mask & !(highest | (highest - 1));
        candidates & candidates.wrapping_neg()
    };
    if raised == 0 {
        return None;
    }
    let below = raised - 1;
    Some((lo & !below) | raised | (ones & below))
}
