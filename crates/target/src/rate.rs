//! Defines exact rates, and slowness, which is the inverse of a rate. Searches for slow paths order
//! paths by slowness.

use crate::ratio::Ratio;
use std::fmt;

/// A non-negative rational number of packets or bits per second, or infinity.
///
/// Rates are ordered by speed. Of the rates that the components of a device allow, the smallest is
/// the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(Ratio);

impl Rate {
    /// Returns the infinite rate.
    pub const fn infinite() -> Self {
        Rate(Ratio::INFINITE)
    }

    /// Returns `num / den` per second. The rate is infinite if only `den` is zero.
    pub fn new(num: u128, den: u128) -> Self {
        Rate(Ratio::new(num, den))
    }

    /// Returns true if the rate is infinite, which means that there is no limit.
    pub fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }

    /// Multiplies the rate by `factor`, for example to convert packets to bits.
    ///
    /// A product of more than 128 bits is rounded down to the largest rate of 128 bits.
    pub fn times(self, factor: u64) -> Self {
        let product = self.0.times(u128::from(factor));
        Rate(product.unwrap_or_else(|| Ratio::new(u128::MAX, self.0.reduced().denominator())))
    }

    /// Returns the rate as a floating-point number, for printing; infinity if the rate is
    /// unlimited.
    pub fn as_f64(self) -> f64 {
        self.0.as_f64()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The slowness of a path on a component, in seconds per packet or per byte.
///
/// It is the inverse of a rate, up to a constant factor. Of the components of a device, the one
/// with the largest slowness is the bottleneck. A cost of zero has zero slowness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slowness(Ratio);

impl Slowness {
    /// Returns zero slowness, the slowness of no work.
    pub const fn zero() -> Self {
        Slowness(Ratio::ZERO)
    }

    /// Returns a slowness of `num / den` seconds per packet or per byte.
    pub fn new(num: u128, den: u128) -> Self {
        Slowness(Ratio::new(num, den))
    }

    /// Returns the inverse of the slowness as a rate: packets per second, or bytes per second if
    /// the slowness is per byte.
    pub fn rate(self) -> Rate {
        Rate(self.0.inverse())
    }

    /// Returns the slowness in seconds, for printing.
    pub fn as_f64(self) -> f64 {
        self.0.as_f64()
    }
}
