//! Defines fractions of non-negative integers, and infinity, with exact comparisons.
//!
//! The module has no sums and no products of two fractions, because rates need neither.

use std::cmp::Ordering;
use std::fmt;

/// `num / den`, or infinity if `den` is zero. `num` and `den` are never both zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    num: u128,
    den: u128,
}

impl Ratio {
    pub(crate) const ZERO: Self = Ratio { num: 0, den: 1 };
    pub(crate) const INFINITE: Self = Ratio { num: 1, den: 0 };

    /// Returns `num / den`. The result is zero if `num` is zero, and infinity if only `den` is
    /// zero.
    pub(crate) fn new(num: u128, den: u128) -> Self {
        if num == 0 { Self::ZERO } else { Ratio { num, den } }
    }

    pub(crate) fn is_infinite(self) -> bool {
        self.den == 0
    }

    /// Returns `1 / self`. Zero and infinity are each other's inverse.
    pub(crate) fn inverse(self) -> Self {
        Ratio { num: self.den, den: self.num }
    }

    pub(crate) fn denominator(self) -> u128 {
        self.den
    }

    /// Returns the fraction in lowest terms.
    pub(crate) fn reduced(self) -> Self {
        let divisor = gcd(self.num, self.den);
        Ratio { num: self.num / divisor, den: self.den / divisor }
    }

    /// Multiplies the fraction by `factor`. Returns `None` if the result in lowest terms needs more
    /// than 128 bits.
    pub(crate) fn times(self, factor: u128) -> Option<Self> {
        if factor == 0 || self.num == 0 {
            return Some(Self::ZERO);
        }
        let reduced = self.reduced();
        let divisor = gcd(factor, reduced.den);
        let num = reduced.num.checked_mul(factor / divisor)?;
        Some(Ratio { num, den: reduced.den / divisor })
    }

    /// Returns a floating-point number near the fraction; only the rounding of numerator,
    /// denominator and quotient causes an error.
    pub(crate) fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio { num, den } = self.reduced();
        match den {
            0 => write!(f, "unlimited"),
            1 => write!(f, "{num}"),
            _ => write!(f, "{num}/{den}"),
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Compares two fractions by their continued fractions. This needs no wider integers than those of
/// the arguments.
fn compare_by_quotients(mut a: Ratio, mut b: Ratio) -> Ordering {
    loop {
        match (a.den, b.den) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Greater,
            (_, 0) => return Ordering::Less,
            _ => {}
        }
        let whole = (a.num / a.den).cmp(&(b.num / b.den));
        if whole != Ordering::Equal {
            return whole;
        }
        // The fractional parts have the order of a and b. Their reciprocals have the opposite
        // order.
        let (left, right) = (a.num % a.den, b.num % b.den);
        (a, b) = (Ratio { num: b.den, den: right }, Ratio { num: a.den, den: left });
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.num.checked_mul(other.den), other.num.checked_mul(self.den)) {
            // The product of two infinities is zero on both sides; an infinity exceeds any finite
            // value.
            (Some(left), Some(right)) => left.cmp(&right),
            _ => compare_by_quotients(*self, *other),
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests;
