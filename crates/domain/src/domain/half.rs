//! Defines intervals of values that have the same sign bit. Their order is the same for unsigned
//! and signed numbers, so one pair of bounds serves both.

/// The values from `lo` to `hi`, both included; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    pub lo: u64,
    pub hi: u64,
}

impl Half {
    /// Returns the values from `lo` to `hi`, or `None` if there are none.
    pub fn new(lo: u64, hi: u64) -> Option<Self> {
        (lo <= hi).then_some(Half { lo, hi })
    }

    /// Returns the smallest interval that contains all members whose bits in `zeros` are zero and
    /// whose bits in `ones` are one. Both bounds have these bits. Returns `None` if no member has
    /// them.
    pub fn with_bits(self, zeros: u64, ones: u64, mask: u64) -> Option<Self> {
        if zeros & ones != 0 {
            return None;
        }
        let lo = least_at_or_above(self.lo, zeros, ones, mask)?;
        // The complement reverses the order, so the greatest value below `hi` becomes the least
        // value above `!hi`.
        let hi = !least_at_or_above(!self.hi & mask, ones, zeros, mask)? & mask;
        Half::new(lo, hi)
    }

    /// Returns the mask of the bits that are equal in all members. These are the bits above the
    /// highest bit in which the two bounds differ.
    pub fn common(self, mask: u64) -> u64 {
        match self.lo ^ self.hi {
            0 => mask,
            differing => mask & !(u64::MAX >> differing.leading_zeros()),
        }
    }

    /// Returns the smallest interval that contains both operands, where `None` is the empty
    /// interval.
    pub fn hull(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(Half { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }),
            (one, None) | (None, one) => one,
        }
    }

    /// Returns the values that are in both intervals, or `None` if there are none.
    pub fn common_values(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (a, b) = (a?, b?);
        Half::new(a.lo.max(b.lo), a.hi.min(b.hi))
    }
}

/// Returns the least value at or above `lo` whose bits in `zeros` are zero and whose bits in `ones`
/// are one. Returns `None` if every such value exceeds `mask`.
fn least_at_or_above(lo: u64, zeros: u64, ones: u64, mask: u64) -> Option<u64> {
    if lo & !mask != 0 {
        return None;
    }
    let conflict = (lo & zeros) | (!lo & ones);
    if conflict == 0 {
        return Some(lo);
    }
    let highest = 1u64 << (63 - conflict.leading_zeros());
    // The bit to raise from 0 to 1: the conflicting bit if it must be 1, otherwise the next higher
    // bit that is neither set nor known to be zero.
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
