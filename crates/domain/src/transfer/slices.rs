//! Computes extensions, extractions and concatenations. Known bits move unchanged; bounds are
//! computed for each sign separately.

use super::{both, by_sign};
use crate::{Domain, mask, sign_extend};

/// Returns a domain with the possible concatenations of `hi` (upper bits) and `lo` (lower bits).
/// The total width is at most 64 bits.
pub fn concat(hi: Domain, lo: Domain) -> Domain {
    let by = lo.width();
    let width = hi.width() + by;
    let bits =
        Domain::from_bits(width, (hi.zeros() << by) | lo.zeros(), (hi.ones() << by) | lo.ones());
    let range = by_sign(hi, |part| {
        Domain::range(width, (part.lo << by) | lo.lo(), (part.hi << by) | lo.hi())
    });
    both(bits, range)
}

/// Returns a domain with the possible values of the `width` bits of `a` from bit `lo` upwards.
pub fn extract(a: Domain, lo: u8, width: u8) -> Domain {
    let bits = Domain::from_bits(width, a.zeros() >> lo, a.ones() >> lo);
    let range = by_sign(a, |part| {
        let (least, greatest) = part.integers();
        Domain::wrapping_range(width, least >> lo, greatest >> lo)
    });
    both(bits, range)
}

/// Returns a domain with the members of `a`, extended with zeros to `width` bits. `width` must not
/// be less than the width of `a`.
pub fn zext(a: Domain, width: u8) -> Domain {
    let above = mask(width) & !mask(a.width());
    let bits = Domain::from_bits(width, a.zeros() | above, a.ones());
    both(bits, Domain::range(width, a.lo(), a.hi()))
}

/// Returns a domain with the members of `a`, extended with copies of their sign bit to `width`
/// bits. `width` must not be less than the width of `a`.
pub fn sext(a: Domain, width: u8) -> Domain {
    let spread = |known: u64| sign_extend(known, a.width()) as u64;
    let bits = Domain::from_bits(width, spread(a.zeros()), spread(a.ones()));
    let (least, greatest) = a.signed_range();
    both(bits, Domain::signed(width, least, greatest))
}
