//! Defines domains: sets of bit-vectors described by known bits and by an unsigned and a signed
//! interval. Each of these three descriptions makes the other two more precise.
//!
//! [`transfer`](crate::transfer) applies operators to domains; `lattice` computes domains that
//! contain the union or the intersection of two domains.
//!
//! The unsigned and the signed interval are stored as two intervals, one for each value of the sign
//! bit: [`Half`]. Both bounds of an interval are members of the domain, so known bits and intervals
//! are always consistent.

mod half;
mod lattice;
#[cfg(test)]
mod tests;

use half::Half;

/// Returns the mask of the low `width` bits.
pub fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1u64 << width) - 1 }
}

/// Returns the signed number that the low `width` bits of `value` represent in two's complement.
pub fn sign_extend(value: u64, width: u8) -> i64 {
    let shift = 64 - u32::from(width);
    ((value << shift) as i64) >> shift
}

/// A non-empty set of values of one width. Every member has the known bits and lies in the closed
/// unsigned interval and in the closed signed interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    width: u8,
    zeros: u64,
    ones: u64,
    lo: u64,
    hi: u64,
    /// Greatest member whose sign bit is zero. If all members have the same sign bit, the greatest
    /// of all members.
    max_nonnegative: u64,
    /// Least member whose sign bit is one. If all members have the same sign bit, the least of all
    /// members.
    min_negative: u64,
}

impl Domain {
    /// Returns the domain of all values with `width` bits.
    pub fn full(width: u8) -> Self {
        let top = 1u64 << (width - 1);
        Domain {
            width,
            zeros: 0,
            ones: 0,
            lo: 0,
            hi: mask(width),
            max_nonnegative: top - 1,
            min_negative: top,
        }
    }

    /// Returns the domain with one member: the low `width` bits of `value`.
    pub fn constant(width: u8, value: u64) -> Self {
        let value = value & mask(width);
        let zeros = !value & mask(width);
        Domain {
            width,
            zeros,
            ones: value,
            lo: value,
            hi: value,
            max_nonnegative: value,
            min_negative: value,
        }
    }

    /// Returns the domain of the values from `lo` to `hi`, both included. If the range is empty
    /// (`lo` is above `hi` or does not fit the width), returns all values. A domain cannot be
    /// empty, and a larger set is always sound.
    pub fn range(width: u8, lo: u64, hi: u64) -> Self {
        Self::reduced(width, 0, 0, lo, hi.min(mask(width))).unwrap_or(Self::full(width))
    }

    /// Returns the domain of the signed numbers from `lo` to `hi`, both included. If the range is
    /// empty, returns all values.
    pub fn signed(width: u8, lo: i64, hi: i64) -> Self {
        let (least, greatest) = (sign_extend(1 << (width - 1), width), (mask(width) >> 1) as i64);
        if lo > hi || lo > greatest || hi < least {
            return Self::full(width);
        }
        Self::wrapping_range(width, lo.max(least).into(), hi.min(greatest).into())
    }

    /// Returns the domain of the values whose bits in `zeros` are zero and whose bits in `ones` are
    /// one. If a bit is in both masks, returns all values.
    pub fn from_bits(width: u8, zeros: u64, ones: u64) -> Self {
        let m = mask(width);
        Self::reduced(width, zeros & m, ones & m, 0, m).unwrap_or(Self::full(width))
    }

    /// Returns the domain of the values from `lo` to `hi` whose bits in `zeros` are zero and whose
    /// bits in `ones` are one. Returns `None` if no value fulfils all conditions.
    pub fn reduced(width: u8, zeros: u64, ones: u64, lo: u64, hi: u64) -> Option<Self> {
        let top = 1u64 << (width - 1);
        let positive = Half::new(lo, hi.min(top - 1));
        let negative = Half::new(lo.max(top), hi.min(mask(width)));
        Self::from_halves(width, zeros, ones, positive, negative)
    }

    /// Returns a domain that contains the remainder modulo 2^width of every integer from `lo` to
    /// `hi`. If the range is empty, returns all values.
    pub fn wrapping_range(width: u8, lo: i128, hi: i128) -> Self {
        let m = mask(width);
        let top = 1u64 << (width - 1);
        let (first, last) = (lo as u64 & m, hi as u64 & m);
        // The difference of two `i128` can exceed `i128::MAX`, so it is computed unsigned.
        if lo > hi || hi.abs_diff(lo) > u128::from(m) {
            return Self::full(width);
        }
        if first <= last {
            return Self::range(width, first, last);
        }
        if first < top || last >= top {
            return Self::full(width);
        }
        Self::from_halves(width, 0, 0, Half::new(0, last), Half::new(first, m))
            .unwrap_or(Self::full(width))
    }

    /// Returns the domain of those values in two intervals that have zeros at the bits in `zeros`
    /// and ones at the bits in `ones`. Values in `positive` have sign bit zero, those in `negative`
    /// sign bit one. Returns `None` if no value fulfils all conditions.
    fn from_halves(
        width: u8,
        zeros: u64,
        ones: u64,
        positive: Option<Half>,
        negative: Option<Half>,
    ) -> Option<Self> {
        let m = mask(width);
        let top = 1u64 << (width - 1);
        if zeros & ones != 0 {
            return None;
        }
        let positive = positive.filter(|_| ones & top == 0);
        let positive = positive.and_then(|half| half.with_bits(zeros | top, ones, m));
        let negative = negative.filter(|_| zeros & top == 0);
        let negative = negative.and_then(|half| half.with_bits(zeros, ones | top, m));
        Some(match (positive, negative) {
            (Some(only), None) | (None, Some(only)) => {
                let common = only.common(m);
                Domain {
                    width,
                    zeros: zeros | (!only.lo & common),
                    ones: ones | (only.lo & common),
                    lo: only.lo,
                    hi: only.hi,
                    max_nonnegative: only.hi,
                    min_negative: only.lo,
                }
            }
            (Some(positive), Some(negative)) => {
                // Bits that have the same known value in both halves.
                let common = positive.common(m) & negative.common(m) & !(positive.lo ^ negative.lo);
                Domain {
                    width,
                    zeros: zeros | (!positive.lo & common),
                    ones: ones | (positive.lo & common),
                    lo: positive.lo,
                    hi: negative.hi,
                    max_nonnegative: positive.hi,
                    min_negative: negative.lo,
                }
            }
            (None, None) => return None,
        })
    }

    /// Returns two intervals: the members whose sign bit is zero, and the members whose sign bit is
    /// one. An interval without members is `None`.
    fn halves(&self) -> (Option<Half>, Option<Half>) {
        match self.sign() {
            Some(false) => (Half::new(self.lo, self.hi), None),
            Some(true) => (None, Half::new(self.lo, self.hi)),
            None => {
                (Half::new(self.lo, self.max_nonnegative), Half::new(self.min_negative, self.hi))
            }
        }
    }

    /// Returns the only member; `None` if the domain has several.
    pub fn as_constant(&self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Returns true if `value` is a member.
    pub fn contains(&self, value: u64) -> bool {
        value & !mask(self.width) == 0
            && value & self.zeros == 0
            && value & self.ones == self.ones
            && (self.lo..=self.hi).contains(&value)
            && (value <= self.max_nonnegative || value >= self.min_negative)
    }

    /// Returns true if the domain contains all values of its width.
    pub fn is_full(&self) -> bool {
        *self == Self::full(self.width)
    }

    /// Returns the width in bits.
    pub fn width(&self) -> u8 {
        self.width
    }

    /// Returns the least member, as an unsigned number.
    pub fn lo(&self) -> u64 {
        self.lo
    }

    /// Returns the greatest member, as an unsigned number.
    pub fn hi(&self) -> u64 {
        self.hi
    }

    /// Returns the bits that are zero in every member.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Returns the bits that are one in every member.
    pub fn ones(&self) -> u64 {
        self.ones
    }

    /// Returns the bits that are neither known to be zero nor known to be one.
    pub fn unknown_bits(&self) -> u64 {
        !(self.zeros | self.ones) & mask(self.width)
    }

    /// Returns the sign bit that all members have, or `None` if members differ in it.
    pub fn sign(&self) -> Option<bool> {
        let top = 1u64 << (self.width - 1);
        let (least, greatest) = (self.lo & top != 0, self.hi & top != 0);
        (least == greatest).then_some(least)
    }

    /// Returns the least and the greatest member as signed numbers.
    pub fn signed_range(&self) -> (i64, i64) {
        let (lo, hi) = match self.sign() {
            Some(_) => (self.lo, self.hi),
            None => (self.min_negative, self.max_nonnegative),
        };
        (sign_extend(lo, self.width), sign_extend(hi, self.width))
    }
}
