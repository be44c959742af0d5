//! How each operator acts on [`Domain`]s. Every function is an over-approximation: operands in the
//! given domains yield a result in the returned one (checked by exhaustive tests on small widths).
//!
//! Operators whose bounds depend on signs work on the members without and those with sign bit
//! apart ([`signs`]) and join the results.

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

/// The members of one sign: all of them, or only the least and the greatest matter.
#[derive(Clone, Copy)]
struct Signed {
    lo: u64,
    hi: u64,
    width: u8,
}

impl Signed {
    /// The bounds as mathematical integers.
    fn integers(self) -> (i128, i128) {
        let integer = |value| i128::from(sign_extend(value, self.width));
        (integer(self.lo), integer(self.hi))
    }

    fn negative(self) -> bool {
        self.lo >> (self.width - 1) & 1 == 1
    }
}

/// The members without and those with sign bit.
fn signs(a: Domain) -> impl Iterator<Item = Signed> + Clone {
    let width = a.width();
    let (least, greatest) = a.signed_range();
    let parts = match a.sign() {
        Some(_) => [Some((a.lo(), a.hi())), None],
        None => [Some((a.lo(), greatest as u64)), Some((least as u64 & mask(width), a.hi()))],
    };
    parts.into_iter().flatten().map(move |(lo, hi)| Signed { lo, hi, width })
}

/// The union of what `of` gives for the members of each sign.
fn by_sign(a: Domain, of: impl Fn(Signed) -> Domain) -> Domain {
    let parts = signs(a).map(of).reduce(|all, part| all.join(&part));
    parts.unwrap_or(Domain::full(a.width()))
}

/// The union of what `of` gives for the members of each sign of both operands.
fn by_signs(a: Domain, b: Domain, of: impl Fn(Signed, Signed) -> Domain) -> Domain {
    let pairs = signs(a).flat_map(|x| signs(b).map(move |y| (x, y)));
    let parts = pairs.map(|(x, y)| of(x, y)).reduce(|all, part| all.join(&part));
    parts.unwrap_or(Domain::full(a.width()))
}

/// What lies in both; they are known not to contradict each other.
fn both(a: Domain, b: Domain) -> Domain {
    a.meet(&b).unwrap_or(a)
}
