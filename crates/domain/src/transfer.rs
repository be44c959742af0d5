//! Applies operators to [`Domain`]s, with one transfer function for each operator. For all members
//! of the operands, the result of the operator is a member of the returned domain. The domain may
//! contain more values. Exhaustive tests on small widths check this.
//!
//! For some operators, bounds depend on signs. The functions of these operators process
//! non-negative and negative members separately ([`signs`]) and join the results.

mod bitwise;
mod compare;
mod divide;
mod shift;
mod slices;
mod sums;

pub use bitwise::{and, not, or, xor};
pub use compare::{decide_eq, decide_slt, decide_ult, eq, slt, ult};
pub use divide::{sdiv, srem, udiv, urem};
pub use shift::{ashr, lshr, shl};
pub use slices::{concat, extract, sext, zext};
pub use sums::{add, mul, neg, sub};

use crate::{Domain, mask, sign_extend};

/// The members of a domain that have the same sign bit, given by the least and the greatest of
/// them.
#[derive(Clone, Copy)]
struct Signed {
    lo: u64,
    hi: u64,
    width: u8,
}

impl Signed {
    /// Returns the bounds as mathematical integers.
    fn integers(self) -> (i128, i128) {
        let integer = |value| i128::from(sign_extend(value, self.width));
        (integer(self.lo), integer(self.hi))
    }

    fn negative(self) -> bool {
        self.lo >> (self.width - 1) & 1 == 1
    }
}

/// Splits the members of a domain by sign.
fn signs(a: Domain) -> impl Iterator<Item = Signed> + Clone {
    let width = a.width();
    let (least, greatest) = a.signed_range();
    let parts = match a.sign() {
        Some(_) => [Some((a.lo(), a.hi())), None],
        None => [Some((a.lo(), greatest as u64)), Some((least as u64 & mask(width), a.hi()))],
    };
    parts.into_iter().flatten().map(move |(lo, hi)| Signed { lo, hi, width })
}

/// Applies `of` to the negative and to the non-negative members of a domain and joins the results.
fn by_sign(a: Domain, of: impl Fn(Signed) -> Domain) -> Domain {
    let parts = signs(a).map(of).reduce(|all, part| all.join(&part));
    parts.unwrap_or(Domain::full(a.width()))
}

/// Applies `of` to each combination of signs of the two operands and joins the results.
fn by_signs(a: Domain, b: Domain, of: impl Fn(Signed, Signed) -> Domain) -> Domain {
    let pairs = signs(a).flat_map(|x| signs(b).map(move |y| (x, y)));
    let parts = pairs.map(|(x, y)| of(x, y)).reduce(|all, part| all.join(&part));
    parts.unwrap_or(Domain::full(a.width()))
}

/// Returns the intersection of two domains that each contain all possible results of one operation.
/// It is therefore never empty.
fn both(a: Domain, b: Domain) -> Domain {
    a.meet(&b).unwrap_or(a)
}
