//! Computes comparisons. The result is a single bit, which is known if the domains allow only one
//! result.

use crate::Domain;

/// Converts the truth value of a comparison to a 1-bit domain. `None` means that the comparison may
/// be true or false.
fn truth(value: Option<bool>) -> Domain {
    value.map_or(Domain::full(1), |v| Domain::constant(1, u64::from(v)))
}

/// Returns the truth value of `a == b` if all members of the domains agree on it; otherwise `None`.
pub fn decide_eq(a: Domain, b: Domain) -> Option<bool> {
    match (a.as_constant(), b.as_constant()) {
        (Some(x), Some(y)) => Some(x == y),
        _ if a.meet(&b).is_none() => Some(false),
        _ => None,
    }
}

/// Returns the truth value of unsigned `a < b` if all members of the domains agree on it; otherwise
/// `None`.
pub fn decide_ult(a: Domain, b: Domain) -> Option<bool> {
    if a.hi() < b.lo() {
        Some(true)
    } else if a.lo() >= b.hi() {
        Some(false)
    } else {
        None
    }
}

/// Returns the truth value of signed `a < b` if all members of the domains agree on it; otherwise
/// `None`.
pub fn decide_slt(a: Domain, b: Domain) -> Option<bool> {
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

/// Returns the 1-bit domain with the possible results of `a == b`.
pub fn eq(a: Domain, b: Domain) -> Domain {
    truth(decide_eq(a, b))
}

/// Returns the 1-bit domain with the possible results of `a < b`, unsigned.
pub fn ult(a: Domain, b: Domain) -> Domain {
    truth(decide_ult(a, b))
}

/// Returns the 1-bit domain with the possible results of `a < b`, signed.
pub fn slt(a: Domain, b: Domain) -> Domain {
    truth(decide_slt(a, b))
}
