//! Rates and their counterpart for searching, slowness. Exact; printing is somebody else's job.

use crate::ratio::Ratio;
use std::fmt;

/// A non-negative rational number of packets or bits per second, or no limit at all.
///
/// Ordered by speed: the smallest rate is the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(Ratio);

impl Rate {
    /// No limit.
    pub const fn infinite() -> Self {
        Rate(Ratio::INFINITE)
    }

    /// `num / den` per second; [`Rate::infinite`] when only `den` is zero.
    pub fn new(num: u128, den: u128) -> Self {
        Rate(Ratio::new(num, den))
    }

    /// Whether there is no limit.
    pub fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }

    /// The rate of units of which `factor` make one of this rate's: bits from packets, for example.
    ///
    /// A product that needs more than 128 bits is rounded down to the largest number that does not.
    pub fn times(self, factor: u64) -> Self {
        let product = self.0.times(u128::from(factor));
        Rate(product.unwrap_or_else(|| Ratio::new(u128::MAX, self.0.reduced().denominator())))
    }

    /// For printing; infinity when there is no limit.
    pub fn as_f64(self) -> f64 {
        self.0.as_f64()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How slow a path is on a component: seconds per packet, or per byte when sizes count.
///
/// The inverse of a rate, up to a constant factor: the largest slowness is the bottleneck. A cost
/// of zero has zero slowness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slowness(Ratio);

impl Slowness {
    /// Zero: no work at all.
    pub const fn zero() -> Self {
        Slowness(Ratio::ZERO)
    }

    /// `num / den` seconds.
    pub fn new(num: u128, den: u128) -> Self {
        Slowness(Ratio::new(num, den))
    }

    /// The rate whose inverse this is: packets per second, or bytes per second when sizes count.
    pub fn rate(self) -> Rate {
        Rate(self.0.inverse())
    }

    /// For printing, in seconds.
    pub fn as_f64(self) -> f64 {
        self.0.as_f64()
    }
}
