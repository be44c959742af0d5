//! What is known about a value without a solver: bits that are surely zero or one, and an unsigned
//! interval, each sharpened by the other (a reduced product of the two textbook lattices).
//!
//! The lattice is here; how operators act on it is in [`transfer`]. Nothing here knows terms.

#[cfg(test)]
mod tests;
pub(crate) mod transfer;

/// The mask of the low `width` bits.
pub(crate) fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// A set of values of one width, never empty: every member has the known bits and lies in the
/// closed unsigned interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    width: u8,
    zeros: u64,
    ones: u64,
    lo: u64,
    hi: u64,
}

impl Domain {
    /// All values of `width` bits.
    pub fn full(width: u8) -> Self {
        Domain { width, zeros: 0, ones: 0, lo: 0, hi: mask(width) }
    }

    /// One value; bits above `width` are dropped.
    pub fn constant(width: u8, value: u64) -> Self {
        let value = value & mask(width);
        Domain { width, zeros: !value & mask(width), ones: value, lo: value, hi: value }
    }

    /// The values from `lo` to `hi`, both included. An empty request (`lo` above `hi` or above the
    /// width) gives all values: a domain is never empty, and too large is always sound.
    pub fn range(width: u8, lo: u64, hi: u64) -> Self {
        Self::reduced(width, 0, 0, lo, hi.min(mask(width))).unwrap_or(Self::full(width))
    }

    /// The values with these bits known to be zero and one. Contradicting bits give all values.
    pub fn from_bits(width: u8, zeros: u64, ones: u64) -> Self {
        let m = mask(width);
        Self::reduced(width, zeros & m, ones & m, 0, m).unwrap_or(Self::full(width))
    }

    /// The reduced product of known bits and an interval; `None` when nothing satisfies both.
    pub(crate) fn reduced(width: u8, zeros: u64, ones: u64, lo: u64, hi: u64) -> Option<Self> {
        let m = mask(width);
        let (mut zeros, mut ones) = (zeros, ones);
        if zeros & ones != 0 {
            return None;
        }
        let lo = least_at_or_above(lo, zeros, ones, m)?;
        // Complementing turns the greatest value below into the least value above.
        let hi = !least_at_or_above(!hi & m, ones, zeros, m)? & m;
        if lo > hi {
            return None;
        }
        // Bits above the highest difference of the bounds are common to all values between them.
        let differing = lo ^ hi;
        let common = if differing == 0 { m } else { m & !(u64::MAX >> differing.leading_zeros()) };
        ones |= lo & common;
        zeros |= !lo & common;
        Some(Domain { width, zeros, ones, lo, hi })
    }

    /// The value, when only one is left.
    pub fn as_constant(&self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether `value` may be a member.
    pub fn contains(&self, value: u64) -> bool {
        value & !mask(self.width) == 0
            && value & self.zeros == 0
            && value & self.ones == self.ones
            && (self.lo..=self.hi).contains(&value)
    }

    /// Whether nothing is known.
    pub fn is_full(&self) -> bool {
        *self == Self::full(self.width)
    }

    /// A domain that contains both. The widths must agree.
    pub fn join(&self, other: &Domain) -> Domain {
        debug_assert_eq!(self.width, other.width);
        Self::reduced(
            self.width,
            self.zeros & other.zeros,
            self.ones & other.ones,
            self.lo.min(other.lo),
            self.hi.max(other.hi),
        )
        .unwrap_or(Self::full(self.width))
    }

    /// The values in both, `None` when there are none. The widths must agree.
    pub fn meet(&self, other: &Domain) -> Option<Domain> {
        debug_assert_eq!(self.width, other.width);
        Self::reduced(
            self.width,
            self.zeros | other.zeros,
            self.ones | other.ones,
            self.lo.max(other.lo),
            self.hi.min(other.hi),
        )
    }

    /// Width in bits.
    pub fn width(&self) -> u8 {
        self.width
    }

    /// The least member.
    pub fn lo(&self) -> u64 {
        self.lo
    }

    /// The greatest member.
    pub fn hi(&self) -> u64 {
        self.hi
    }

    /// Bits that are zero in every member.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Bits that are one in every member.
    pub fn ones(&self) -> u64 {
        self.ones
    }

    /// The sign bit of every member, when it is the same.
    pub fn sign(&self) -> Option<bool> {
        let top = 1u64 << (self.width - 1);
        if self.ones & top != 0 {
            Some(true)
        } else if self.zeros & top != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// The least and the greatest member as signed numbers.
    pub fn signed_range(&self) -> (i64, i64) {
        match self.sign() {
            Some(_) => (sign_extend(self.lo, self.width), sign_extend(self.hi, self.width)),
            None => {
                let top = 1u64 << (self.width - 1);
                let free_negative = self.ones | top;
                let free_positive = mask(self.width) & !self.zeros & !top;
                (sign_extend(free_negative, self.width), free_positive as i64)
            }
        }
    }
}

/// `value` of `width` bits as a signed number.
pub(crate) fn sign_extend(value: u64, width: u8) -> i64 {
    let shift = 64 - u32::from(width);
    ((value << shift) as i64) >> shift
}

/// The least value at or above `lo` that has the known bits.
fn least_at_or_above(lo: u64, zeros: u64, ones: u64, mask: u64) -> Option<u64> {
    if lo & !mask != 0 {
        return None;
    }
    let conflict = (lo & zeros) | (!lo & ones);
    if conflict == 0 {
        return Some(lo);
    }
    let highest = 1u64 << (63 - conflict.leading_zeros());
    // The bit to raise from 0 to 1: the conflicting one itself, or, when that must fall to 0, the
    // next higher one that is free.
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
