//! Computes quotients and remainders. Division by zero yields all ones, or 1 for a negative
//! dividend of a signed division. The remainder of a division by zero is the dividend.

use super::{Signed, both, by_signs};
use crate::{Domain, mask};

/// Returns a domain with the possible results of `a / b`, unsigned.
pub fn udiv(a: Domain, b: Domain) -> Domain {
    let by_zero = Domain::constant(a.width(), mask(a.width()));
    if b.hi() == 0 {
        return by_zero;
    }
    let quotient = Domain::range(a.width(), a.lo() / b.hi(), a.hi() / b.lo().max(1));
    if let Some(by) = power_of_two(b) {
        return both(quotient, super::lshr(a, by));
    }
    if b.lo() == 0 { quotient.join(&by_zero) } else { quotient }
}

/// Returns a domain with the possible results of `a % b`, unsigned.
pub fn urem(a: Domain, b: Domain) -> Domain {
    if b.hi() == 0 || a.hi() < b.lo() {
        return a;
    }
    if let Some(divisor) = b.as_constant().filter(|d| d.is_power_of_two()) {
        return super::and(a, Domain::constant(a.width(), divisor - 1));
    }
    if b.lo() > 0 && a.lo() / b.hi() == a.hi() / b.lo() {
        // The least and the greatest quotient are equal, so every quotient is.
        let quotient = a.lo() / b.hi();
        let (lo, hi) = (a.lo() - quotient * b.hi(), a.hi() - quotient * b.lo());
        return Domain::range(a.width(), lo, hi.min(b.hi() - 1));
    }
    let hi = if b.lo() == 0 { a.hi() } else { a.hi().min(b.hi() - 1) };
    // The remainder is congruent to the dividend modulo every power of two that divides the
    // divisor.
    let same = mask(b.zeros().trailing_ones().min(63) as u8);
    let bits = Domain::from_bits(a.width(), a.zeros() & same, a.ones() & same);
    both(Domain::range(a.width(), 0, hi), bits)
}

/// If the divisor is a constant power of two, returns the domain with its base-2 logarithm,
/// otherwise `None`.
fn power_of_two(b: Domain) -> Option<Domain> {
    let divisor = b.as_constant().filter(|d| d.is_power_of_two())?;
    let exponent = u64::from(divisor.trailing_zeros());
    Some(Domain::constant(b.width(), exponent)).filter(|by| by.lo() == exponent)
}

/// Returns the least and the greatest absolute value of members that have the same sign.
fn magnitudes(part: Signed) -> (i128, i128) {
    let (lo, hi) = part.integers();
    if part.negative() { (-hi, -lo) } else { (lo, hi) }
}

/// Returns a domain with the possible results of `a / b`, signed, rounded towards zero.
pub fn sdiv(a: Domain, b: Domain) -> Domain {
    by_signs(a, b, |x, y| {
        let ((a_lo, a_hi), (b_lo, b_hi)) = (magnitudes(x), magnitudes(y));
        let by_zero = if x.negative() { 1 } else { mask(a.width()) };
        let by_zero = Domain::constant(a.width(), by_zero);
        if b_hi == 0 {
            return by_zero;
        }
        let (lo, hi) = (a_lo / b_hi, a_hi / b_lo.max(1));
        let quotient = if x.negative() == y.negative() {
            Domain::wrapping_range(a.width(), lo, hi)
        } else {
            Domain::wrapping_range(a.width(), -hi, -lo)
        };
        if b_lo == 0 { quotient.join(&by_zero) } else { quotient }
    })
}

/// Returns a domain with the possible results of `a % b`, signed, with the sign of `a`.
pub fn srem(a: Domain, b: Domain) -> Domain {
    by_signs(a, b, |x, y| {
        let ((a_lo, a_hi), (b_lo, b_hi)) = (magnitudes(x), magnitudes(y));
        let (lo, hi) = if b_hi == 0 || a_hi < b_lo {
            (a_lo, a_hi)
        } else if b_lo == b_hi && a_lo / b_lo == a_hi / b_lo {
            (a_lo % b_lo, a_hi % b_lo)
        } else {
            (0, if b_lo == 0 { a_hi } else { a_hi.min(b_hi - 1) })
        };
        if x.negative() {
            Domain::wrapping_range(a.width(), -hi, -lo)
        } else {
            Domain::wrapping_range(a.width(), lo, hi)
        }
    })
}
