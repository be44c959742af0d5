//! Computes bitwise and, or, exclusive or and complement. Known bits are computed bit by bit;
//! bounds follow from the least and greatest disjunction of two intervals (Warren, "Hacker's
//! Delight", section 4-3).

use super::{Signed, both, by_signs};
use crate::{Domain, mask};

/// Returns a domain with the possible results of `~a`.
pub fn not(a: Domain) -> Domain {
    let ones = Domain::constant(a.width(), u64::MAX);
    both(Domain::from_bits(a.width(), a.ones(), a.zeros()), super::sub(ones, a))
}

/// Returns a domain with the possible results of `a & b`.
pub fn and(a: Domain, b: Domain) -> Domain {
    by_parts(a, b, |a, b| {
        let m = mask(a.width());
        let bits = Domain::from_bits(a.width(), a.zeros() | b.zeros(), a.ones() & b.ones());
        // The greatest conjunction is the complement of the least disjunction of the complements.
        let (x, y) = ((!a.hi() & m, !a.lo() & m), (!b.hi() & m, !b.lo() & m));
        let (lo, hi) = (!greatest_or(x, y) & m, !least_or(x, y) & m);
        both(bits, Domain::range(a.width(), lo, hi))
    })
}

/// Returns a domain with the possible results of `a | b`.
pub fn or(a: Domain, b: Domain) -> Domain {
    by_parts(a, b, |a, b| {
        let bits = Domain::from_bits(a.width(), a.zeros() & b.zeros(), a.ones() | b.ones());
        let (x, y) = ((a.lo(), a.hi()), (b.lo(), b.hi()));
        both(bits, Domain::range(a.width(), least_or(x, y), greatest_or(x, y)))
    })
}

/// Returns a domain with the possible results of `a ^ b`.
pub fn xor(a: Domain, b: Domain) -> Domain {
    by_parts(a, b, |a, b| {
        let ones = (a.ones() & b.zeros()) | (a.zeros() & b.ones());
        let zeros = (a.ones() & b.ones()) | (a.zeros() & b.zeros());
        let bits = Domain::from_bits(a.width(), zeros, ones);
        // `x ^ y` is `(x | y) - (x & y)`.
        let (any, common) = (or(a, b), and(a, b));
        let lo = any.lo().saturating_sub(common.hi());
        both(bits, Domain::range(a.width(), lo, any.hi() - common.lo()))
    })
}

/// Splits operands by sign, applies `of` to each combination of signs, and joins the results. Does
/// not split if this cannot make the result more precise: each operand has a single sign, or
/// contains all values with its known bits.
fn by_parts(a: Domain, b: Domain, of: impl Fn(Domain, Domain) -> Domain) -> Domain {
    let simple =
        |d: Domain| d.sign().is_some() || Domain::from_bits(d.width(), d.zeros(), d.ones()) == d;
    if simple(a) && simple(b) {
        return of(a, b);
    }
    let part = |part: Signed| Domain::range(part.width, part.lo, part.hi);
    let within = |d: Domain, part: Domain| d.meet(&part).unwrap_or(part);
    by_signs(a, b, |x, y| of(within(a, part(x)), within(b, part(y))))
}

/// Returns the least value of `x | y`, where `x` is in the interval `a` and `y` in the interval `b`
/// (Warren, "Hacker's Delight", section 4-3).
fn least_or(mut a: (u64, u64), mut b: (u64, u64)) -> u64 {
    let mut differing = a.0 ^ b.0;
    while differing != 0 {
        let bit = 1u64 << (63 - differing.leading_zeros());
        differing &= !bit;
        // Raise the lower bound that lacks the bit to the next value with the bit; this changes no
        // higher bit.
        let lower = if a.0 & bit == 0 { &mut a } else { &mut b };
        let raised = (lower.0 | bit) & bit.wrapping_neg();
        if raised <= lower.1 {
            lower.0 = raised;
            break;
        }
    }
    a.0 | b.0
}

/// Returns the greatest value of `x | y`, where `x` is in the interval `a` and `y` in the interval
/// `b` (Warren, "Hacker's Delight", section 4-3).
fn greatest_or(mut a: (u64, u64), mut b: (u64, u64)) -> u64 {
    let mut common = a.1 & b.1;
    while common != 0 {
        let bit = 1u64 << (63 - common.leading_zeros());
        common &= !bit;
        // One operand with this bit is enough, so the other may lack it and have all lower bits
        // instead.
        let with_all_below = |range: (u64, u64)| (range.1 & !bit) | (bit - 1);
        if with_all_below(a) >= a.0 {
            a.1 = with_all_below(a);
            break;
        }
        if with_all_below(b) >= b.0 {
            b.1 = with_all_below(b);
            break;
        }
    }
    a.1 | b.1
}
