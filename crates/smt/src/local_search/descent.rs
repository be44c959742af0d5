//! Goes backwards from a violated condition to the inputs, to find a change of an input that
//! satisfies the condition.

use super::input::{Input, input_of};
use super::network::Network;
use crate::domain::{Domain, mask, sign_extend};
use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Maximum number of operators that are visited between one condition and its inputs.
const MAX_STEPS: usize = 4_096;

/// Searches backwards from a violated condition, through operators, for inputs to change.
pub(super) struct Descent<'a, 'b> {
    pub pool: &'a TermPool,
    /// Function that returns the permitted values of an input.
    pub domain: &'b dyn Fn(TermId) -> Domain,
    pub network: &'b Network<'a>,
    /// Index of this attempt to satisfy the condition. If either of two operands can be changed,
    /// odd and even attempts choose different ones.
    pub attempt: usize,
}

impl Descent<'_, '_> {
    /// Returns inputs, each with a new value. The new values make `condition` true if each of these
    /// inputs occurs in it only once. Returns `None` if no changes are found.
    pub fn descend(&self, condition: TermId) -> Option<Vec<(Input, u64)>> {
        let mut work = vec![(condition, 1)];
        let mut changes = Vec::new();
        for _ in 0..MAX_STEPS {
            let Some((term, wanted)) = work.pop() else { return Some(changes) };
            if self.value(term) == wanted {
                continue;
            }
            if !self.pool.domain(term).contains(wanted) {
                return None;
            }
            if let Some(input) = input_of(self.pool, term, |index| self.value(index)) {
                (self.domain)(term).contains(wanted).then(|| changes.push((input, wanted)))?;
            } else if let Node::Concat(high, low) = *self.pool.node(term) {
                let width = self.pool.width(low);
                work.push((high, wanted >> width));
                work.push((low, wanted & mask(width)));
            } else {
                work.push(self.operand(term, wanted)?);
            }
        }
        None
    }

    fn value(&self, term: TermId) -> u64 {
        self.network.value_of(term).unwrap_or(0)
    }

    /// Returns an operand of `term`, and a new value for it that gives `term` the value `wanted`.
    fn operand(&self, term: TermId, wanted: u64) -> Option<(TermId, u64)> {
        let m = mask(self.pool.width(term));
        match *self.pool.node(term) {
            Node::Not(a) => Some((a, !wanted & m)),
            Node::Neg(a) => Some((a, wanted.wrapping_neg() & m)),
            Node::Sext(a) => {
                let width = self.pool.width(a);
                let short = wanted & mask(width);
                (sign_extend(short, width) as u64 & m == wanted).then_some((a, short))
            }
            Node::Extract { src, lo } => {
                Some((src, (self.value(src) & !(m << lo)) | (wanted << lo)))
            }
            Node::Ite(condition, then, other) => {
                let taken = self.value(condition) == 1;
                let (used, unused) = if taken { (then, other) } else { (other, then) };
                if self.value(unused) == wanted {
                    return Some((condition, u64::from(!taken)));
                }
                Some((used, wanted))
            }
            Node::And(a, b) => self.either(a, b, |now, other| {
                (wanted & !other == 0).then_some(wanted | (now & !other))
            }),
            Node::Or(a, b) => self.either(a, b, |now, other| {
                (other & !wanted == 0).then_some((wanted & !other) | (now & other))
            }),
            Node::Xor(a, b) => self.either(a, b, |_, other| Some(wanted ^ other)),
            Node::Add(a, b) => self.either(a, b, |_, other| Some(wanted.wrapping_sub(other) & m)),
            Node::Mul(a, b) => self.either(a, b, |_, other| quotient(wanted, other, m)),
            Node::Udiv(a, b) => {
                let rest = self.value(a).checked_rem(self.value(b))?;
                let dividend = wanted.checked_mul(self.value(b))?.checked_add(rest)?;
                (dividend <= m).then_some((a, dividend))
            }
            Node::Urem(a, b) => {
                let (now, by) = (self.value(a), self.value(b));
                let dividend = (now - now.checked_rem(by)?).checked_add(wanted)?;
                (wanted < by && dividend <= m).then_some((a, dividend))
            }
            Node::Eq(a, b) if wanted == 1 => self.either(a, b, |_, other| Some(other)),
            Node::Eq(a, b) => self.different(a, b),
            Node::Ult(a, b) => self.ordered(a, b, wanted == 1, 0),
            Node::Slt(a, b) => self.ordered(a, b, wanted == 1, 1 << (self.pool.width(a) - 1)),
            _ => None,
        }
    }

    /// Selects one of two operands to change, and returns it with its new value. `inverse` computes
    /// the new value of an operand from its current value and the value of the other operand.
    fn either(
        &self,
        a: TermId,
        b: TermId,
        inverse: impl Fn(u64, u64) -> Option<u64>,
    ) -> Option<(TermId, u64)> {
        let (x, y) = (self.value(a), self.value(b));
        self.first_possible([(a, inverse(x, y)), (b, inverse(y, x))])
    }

    /// Selects one of two operands with equal values, and returns it with a different value.
    fn different(&self, a: TermId, b: TermId) -> Option<(TermId, u64)> {
        let now = self.value(a);
        let other = |term: TermId| {
            let (near, m) = ((self.domain)(term), mask(self.pool.width(term)));
            let close = [now ^ 1, now.wrapping_add(1) & m, now.wrapping_sub(1) & m];
            let mut all = close.into_iter().chain([near.lo(), near.hi()]);
            all.find(|&value| value != now && near.contains(value))
        };
        self.first_possible([(a, other(a)), (b, other(b))])
    }

    /// Returns one of the operands, with a new value that makes `a < b` true if `less` is true, and
    /// false otherwise. Both operands are compared with the bits of `sign` inverted: no bit for
    /// unsigned numbers, the highest bit for signed numbers.
    fn ordered(&self, a: TermId, b: TermId, less: bool, sign: u64) -> Option<(TermId, u64)> {
        let m = mask(self.pool.width(a));
        let (x, y) = (self.value(a) ^ sign, self.value(b) ^ sign);
        let (lower, raised) = match less {
            true => (y.checked_sub(1), (x < m).then(|| x + 1)),
            false => (Some(y), Some(x)),
        };
        let back = |value: Option<u64>| value.map(|value| value ^ sign);
        self.first_possible([(a, back(lower)), (b, back(raised))])
    }

    /// Returns the first change that is possible: the operand must not be constant, and its domain
    /// must contain the new value. The second change comes first in every other attempt.
    fn first_possible(&self, mut ways: [(TermId, Option<u64>); 2]) -> Option<(TermId, u64)> {
        if self.attempt % 2 == 1 {
            ways.reverse();
        }
        let mut ways = ways.into_iter().filter_map(|(term, value)| Some((term, value?)));
        ways.find(|&(term, value)| {
            self.pool.as_const(term).is_none() && self.pool.domain(term).contains(value)
        })
    }
}

/// Returns an `x` with `x * factor == product` modulo `m + 1`. The mask `m` is `2^width - 1`.
/// Returns `None` if no such `x` exists.
pub(super) fn quotient(product: u64, factor: u64, m: u64) -> Option<u64> {
    if factor == 0 || product.trailing_zeros() < factor.trailing_zeros() {
        return None;
    }
    let shift = factor.trailing_zeros();
    let odd = factor >> shift;
    // Newton's iteration: an odd number is its own inverse modulo 8, and each step doubles the
    // number of correct bits.
    let mut inverse = odd;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    Some((product >> shift).wrapping_mul(inverse) & (m >> shift))
}
