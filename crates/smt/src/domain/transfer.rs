//! How each operator acts on [`Domain`]s. Every function is an over-approximation: operands in the
//! given domains yield a result in the returned one (checked by exhaustive tests on small widths).

use super::{Domain, mask, sign_extend};

/// Knows bits only.
fn bits(width: u8, zeros: u64, ones: u64) -> Domain {
    Domain::from_bits(width, zeros, ones)
}

/// Both facts; the caller guarantees that they do not contradict each other.
fn both(width: u8, zeros: u64, ones: u64, lo: u64, hi: u64) -> Domain {
    Domain::reduced(width, zeros & mask(width), ones & mask(width), lo, hi)
        .unwrap_or(Domain::full(width))
}

pub(crate) fn not(a: Domain) -> Domain {
    let m = mask(a.width);
    both(a.width, a.ones, a.zeros, !a.hi & m, !a.lo & m)
}

pub(crate) fn and(a: Domain, b: Domain) -> Domain {
    both(a.width, a.zeros | b.zeros, a.ones & b.ones, 0, a.hi.min(b.hi))
}

pub(crate) fn or(a: Domain, b: Domain) -> Domain {
    both(a.width, a.zeros & b.zeros, a.ones | b.ones, a.lo.max(b.lo), mask(a.width))
}

pub(crate) fn xor(a: Domain, b: Domain) -> Domain {
    let ones = (a.ones & b.zeros) | (a.zeros & b.ones);
    let zeros = (a.ones & b.ones) | (a.zeros & b.zeros);
    bits(a.width, zeros, ones)
}

/// Known bits of `a + b + carry`.
fn add_bits(a: Domain, b: Domain, carry: u64) -> (u64, u64) {
    let m = mask(a.width);
    let greatest = (!a.zeros & m).wrapping_add(!b.zeros & m).wrapping_add(carry);
    let least = a.ones.wrapping_add(b.ones).wrapping_add(carry);
    let carry_zero = !(greatest ^ a.zeros ^ b.zeros);
    let carry_one = least ^ a.ones ^ b.ones;
    let known = (a.zeros | a.ones) & (b.zeros | b.ones) & (carry_zero | carry_one) & m;
    (!greatest & known, least & known)
}

/// The interval of a result that as a mathematical integer lies in `lo..=hi`, modulo 2^width.
pub(crate) fn wrapped(width: u8, lo: i128, hi: i128) -> (u64, u64) {
    if lo >> width == hi >> width {
        (lo as u64 & mask(width), hi as u64 & mask(width))
    } else {
        (0, mask(width))
    }
}

pub(crate) fn add(a: Domain, b: Domain) -> Domain {
    let (zeros, ones) = add_bits(a, b, 0);
    let lo = i128::from(a.lo) + i128::from(b.lo);
    let hi = i128::from(a.hi) + i128::from(b.hi);
    let (lo, hi) = wrapped(a.width, lo, hi);
    both(a.width, zeros, ones, lo, hi)
}

pub(crate) fn neg(a: Domain) -> Domain {
    let zero = Domain::constant(a.width, 0);
    let (zeros, ones) = add_bits(not(a), zero, 1);
    let (lo, hi) = wrapped(a.width, -i128::from(a.hi), -i128::from(a.lo));
    both(a.width, zeros, ones, lo, hi)
}

pub(crate) fn mul(a: Domain, b: Domain) -> Domain {
    let m = mask(a.width);
    // The low bits of a product depend on the low bits of the factors only.
    let known = (a.zeros | a.ones).trailing_ones().min((b.zeros | b.ones).trailing_ones());
    let low = if known >= 64 { u64::MAX } else { (1u64 << known) - 1 };
    let product = a.ones.wrapping_mul(b.ones) & low;
    let trailing = (a.zeros.trailing_ones() + b.zeros.trailing_ones()).min(64);
    let even = if trailing == 64 { u64::MAX } else { (1u64 << trailing) - 1 };
    let zeros = (!product & low) | even;
    let (lo, hi) = match (a.hi.checked_mul(b.hi), a.lo.checked_mul(b.lo)) {
        (Some(hi), Some(lo)) if hi <= m => (lo, hi),
        _ => (0, m),
    };
    both(a.width, zeros & m, product & m & !even, lo, hi)
}

pub(crate) fn udiv(a: Domain, b: Domain) -> Domain {
    let m = mask(a.width);
    if b.hi == 0 {
        return Domain::constant(a.width, m);
    }
    let lo = a.lo / b.hi;
    let hi = a.hi.checked_div(b.lo).unwrap_or(m);
    Domain::range(a.width, lo, hi)
}

pub(crate) fn urem(a: Domain, b: Domain) -> Domain {
    if b.hi == 0 || a.hi < b.lo {
        return a;
    }
    let hi = if b.lo == 0 { a.hi } else { a.hi.min(b.hi - 1) };
    Domain::range(a.width, 0, hi)
}

pub(crate) fn sdiv(a: Domain, b: Domain) -> Domain {
    // Division by zero yields all ones for a dividend that is not negative, like `udiv`.
    match (a.sign(), b.sign()) {
        (Some(false), Some(false)) => udiv(a, b),
        _ => Domain::full(a.width),
    }
}

pub(crate) fn srem(a: Domain, b: Domain) -> Domain {
    match (a.sign(), b.sign()) {
        (Some(false), Some(false)) => urem(a, b),
        (Some(false), _) => Domain::range(a.width, 0, a.hi),
        _ => Domain::full(a.width),
    }
}

/// A shift by a known amount.
type ShiftBy = fn(Domain, u64) -> Domain;

/// Joins over the possible shift amounts; amounts of the width or more behave like the width.
fn shift(a: Domain, b: Domain, by: ShiftBy) -> Domain {
    let width = u64::from(a.width);
    let (least, greatest) = (b.lo.min(width), b.hi.min(width));
    let mut amounts = (least..=greatest).filter(|&s| s == width || b.contains(s));
    let first = amounts.next().unwrap_or(least);
    amounts.fold(by(a, first), |domain, amount| domain.join(&by(a, amount)))
}

fn shl_by(a: Domain, by: u64) -> Domain {
    let m = mask(a.width);
    if by >= u64::from(a.width) {
        return Domain::constant(a.width, 0);
    }
    let (lo, hi) = if a.hi <= m >> by { (a.lo << by, a.hi << by) } else { (0, m) };
    both(a.width, (a.zeros << by) | mask(by as u8), a.ones << by, lo, hi)
}

pub(crate) fn shl(a: Domain, b: Domain) -> Domain {
    shift(a, b, shl_by)
}

fn lshr_by(a: Domain, by: u64) -> Domain {
    let m = mask(a.width);
    if by >= u64::from(a.width) {
        return Domain::constant(a.width, 0);
    }
    let vacated = m & !(m >> by);
    both(a.width, (a.zeros >> by) | vacated, a.ones >> by, a.lo >> by, a.hi >> by)
}

pub(crate) fn lshr(a: Domain, b: Domain) -> Domain {
    shift(a, b, lshr_by)
}

fn ashr_by(a: Domain, by: u64) -> Domain {
    let by = by.min(u64::from(a.width) - 1);
    let spread = |known: u64| (sign_extend(known, a.width) >> by) as u64 & mask(a.width);
    let (zeros, ones) = (spread(a.zeros), spread(a.ones));
    match a.sign() {
        Some(_) => both(a.width, zeros, ones, spread(a.lo), spread(a.hi)),
        None => bits(a.width, zeros, ones),
    }
}

pub(crate) fn ashr(a: Domain, b: Domain) -> Domain {
    shift(a, b, ashr_by)
}

/// A truth value, if decided.
fn truth(value: Option<bool>) -> Domain {
    value.map_or(Domain::full(1), |v| Domain::constant(1, u64::from(v)))
}

/// Whether `a == b`, when the domains decide it.
pub(crate) fn decide_eq(a: Domain, b: Domain) -> Option<bool> {
    match (a.as_constant(), b.as_constant()) {
        (Some(x), Some(y)) => Some(x == y),
        _ if a.meet(&b).is_none() => Some(false),
        _ => None,
    }
}

/// Whether `a < b` without sign, when the domains decide it.
pub(crate) fn decide_ult(a: Domain, b: Domain) -> Option<bool> {
    if a.hi < b.lo {
        Some(true)
    } else if a.lo >= b.hi {
        Some(false)
    } else {
        None
    }
}

/// Whether `a < b` with sign, when the domains decide it.
pub(crate) fn decide_slt(a: Domain, b: Domain) -> Option<bool> {
    let (a_lo, a_hi) = a.signed_range();
    let (b_lo, b_hi) = b.signed_range();
    if a_hi < b_lo {
        Some(true)
    } else if a_lo >= b_hi {
        Some(false)
    } else {
        None
    }
}

pub(crate) fn eq(a: Domain, b: Domain) -> Domain {
    truth(decide_eq(a, b))
}

pub(crate) fn ult(a: Domain, b: Domain) -> Domain {
    truth(decide_ult(a, b))
}

pub(crate) fn slt(a: Domain, b: Domain) -> Domain {
    truth(decide_slt(a, b))
}

pub(crate) fn concat(hi: Domain, lo: Domain) -> Domain {
    let by = lo.width;
    both(
        hi.width + by,
        (hi.zeros << by) | lo.zeros,
        (hi.ones << by) | lo.ones,
        (hi.lo << by) | lo.lo,
        (hi.hi << by) | lo.hi,
    )
}

pub(crate) fn extract(a: Domain, lo: u8, width: u8) -> Domain {
    let (first, last) = wrapped(width, i128::from(a.lo >> lo), i128::from(a.hi >> lo));
    both(width, a.zeros >> lo, a.ones >> lo, first, last)
}

pub(crate) fn sext(a: Domain, width: u8) -> Domain {
    let spread = |known: u64| sign_extend(known, a.width) as u64 & mask(width);
    match a.sign() {
        Some(_) => both(width, spread(a.zeros), spread(a.ones), spread(a.lo), spread(a.hi)),
        None => bits(width, spread(a.zeros), spread(a.ones)),
    }
}
