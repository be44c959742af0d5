//! Computes sums, differences and products. Known bits are computed as in the kernel's
//! `kernel/bpf/tnum.c`.

use super::{both, by_signs};
use crate::{Domain, mask};

/// Returns the bits of `a + b + carry` that are known to be zero, and those that are known to be
/// one. `a` and `b` also consist of these two masks: known zeros and known ones.
fn add_bits(width: u8, a: (u64, u64), b: (u64, u64), carry: u64) -> (u64, u64) {
    let m = mask(width);
    let greatest = (!a.0 & m).wrapping_add(!b.0 & m).wrapping_add(carry);
    let least = a.1.wrapping_add(b.1).wrapping_add(carry);
    let carry_zero = !(greatest ^ a.0 ^ b.0);
    let carry_one = least ^ a.1 ^ b.1;
    let known = (a.0 | a.1) & (b.0 | b.1) & (carry_zero | carry_one) & m;
    (!greatest & known, least & known)
}

/// Returns a domain with the possible results of `a + b` modulo 2^width.
pub fn add(a: Domain, b: Domain) -> Domain {
    let (zeros, ones) = add_bits(a.width(), (a.zeros(), a.ones()), (b.zeros(), b.ones()), 0);
    let range = by_signs(a, b, |x, y| {
        let (x, y) = (x.integers(), y.integers());
        Domain::wrapping_range(a.width(), x.0 + y.0, x.1 + y.1)
    });
    both(Domain::from_bits(a.width(), zeros, ones), range)
}

/// Returns a domain with the possible results of `a - b` modulo 2^width.
pub fn sub(a: Domain, b: Domain) -> Domain {
    let (zeros, ones) = add_bits(a.width(), (a.zeros(), a.ones()), (b.ones(), b.zeros()), 1);
    let range = by_signs(a, b, |x, y| {
        let (x, y) = (x.integers(), y.integers());
        Domain::wrapping_range(a.width(), x.0 - y.1, x.1 - y.0)
    });
    both(Domain::from_bits(a.width(), zeros, ones), range)
}

/// Returns a domain with the possible results of `-a` modulo 2^width.
pub fn neg(a: Domain) -> Domain {
    sub(Domain::constant(a.width(), 0), a)
}

/// Returns a domain with the possible results of `a * b` modulo 2^width.
pub fn mul(a: Domain, b: Domain) -> Domain {
    let (zeros, ones) = mul_bits(a, b);
    let range = by_signs(a, b, |x, y| {
        let (x, y) = (x.integers(), y.integers());
        let corners = [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
        let lo = corners.iter().copied().fold(corners[0], i128::min);
        let hi = corners.iter().copied().fold(corners[0], i128::max);
        Domain::wrapping_range(a.width(), lo, hi)
    });
    both(Domain::from_bits(a.width(), zeros, ones), range)
}

/// Returns the known zeros and ones of a product, by long multiplication (Vishwanathan et al.,
/// "Sound, precise, and fast abstract interpretation with tristate numbers", CGO 2022).
fn mul_bits(a: Domain, b: Domain) -> (u64, u64) {
    let width = a.width();
    let m = mask(width);
    // The loop below adds once for each bit that may be set in the first factor, so the factor with
    // fewer such bits comes first.
    let possible = |d: Domain| (!d.zeros() & m).count_ones();
    let (a, b) = if possible(a) <= possible(b) { (a, b) } else { (b, a) };
    let certain = a.ones().wrapping_mul(b.ones()) & m;
    // Sum of the partial products that contain unknown bits, to be added to the product of the
    // known ones.
    let (mut zeros, mut ones) = (m, 0);
    let mut left = !a.zeros() & m;
    while left != 0 {
        let at = left.trailing_zeros();
        left &= left - 1;
        let may = if a.ones() >> at & 1 == 1 { b.unknown_bits() } else { !b.zeros() & m };
        let term_zeros = !(may << at) & m;
        (zeros, ones) = add_bits(width, (zeros, ones), (term_zeros, 0), 0);
    }
    add_bits(width, (!certain & m, certain), (zeros, ones), 0)
}
