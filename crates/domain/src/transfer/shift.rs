//! Computes shifts. Shifting by the width or more yields zero, or copies of the sign in an
//! arithmetic right shift.

use super::{both, by_sign};
use crate::{Domain, mask, sign_extend};

/// A function that shifts a domain by a known amount.
type ShiftBy = fn(Domain, u64) -> Domain;

/// Joins the results of `by` for all shift amounts in `b`. An amount above the width has the same
/// effect as the width.
fn shift(a: Domain, b: Domain, by: ShiftBy) -> Domain {
    let width = u64::from(a.width());
    let (least, greatest) = (b.lo().min(width), b.hi().min(width));
    let mut amounts = (least..=greatest).filter(|&s| s == width || b.contains(s));
    let first = amounts.next().unwrap_or(least);
    amounts.fold(by(a, first), |domain, amount| domain.join(&by(a, amount)))
}

/// Returns a domain with the possible results of `a << b`.
pub fn shl(a: Domain, b: Domain) -> Domain {
    shift(a, b, |a, by| {
        if by >= u64::from(a.width()) {
            return Domain::constant(a.width(), 0);
        }
        let zeros = (a.zeros() << by) | mask(by as u8);
        let range = by_sign(a, |part| {
            let (lo, hi) = part.integers();
            Domain::wrapping_range(a.width(), lo << by, hi << by)
        });
        both(Domain::from_bits(a.width(), zeros, a.ones() << by), range)
    })
}

/// Returns a domain with the possible results of `a >> b`, where zeros are shifted in.
pub fn lshr(a: Domain, b: Domain) -> Domain {
    shift(a, b, |a, by| {
        if by >= u64::from(a.width()) {
            return Domain::constant(a.width(), 0);
        }
        if by == 0 {
            return a;
        }
        let m = mask(a.width());
        let vacated = m & !(m >> by);
        let bits = Domain::from_bits(a.width(), (a.zeros() >> by) | vacated, a.ones() >> by);
        both(bits, Domain::range(a.width(), a.lo() >> by, a.hi() >> by))
    })
}

/// Returns a domain with the possible results of `a >> b`, where copies of the sign are shifted in.
pub fn ashr(a: Domain, b: Domain) -> Domain {
    shift(a, b, |a, by| {
        let by = by.min(u64::from(a.width()) - 1);
        let spread = |known: u64| (sign_extend(known, a.width()) >> by) as u64;
        let bits = Domain::from_bits(a.width(), spread(a.zeros()), spread(a.ones()));
        let range = by_sign(a, |part| {
            let (lo, hi) = part.integers();
            Domain::wrapping_range(a.width(), lo >> by, hi >> by)
        });
        both(bits, range)
    })
}
