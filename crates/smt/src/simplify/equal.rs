//! Simplifies equalities. Addends that are on both sides cancel. Bits that are constant or equal on
//! both sides are compared and dropped, so the remaining equality is as narrow as possible.

use crate::domain::mask;
use crate::domain::transfer::decide_eq;
use crate::pool::TermPool;
use crate::simplify::sum::Linear;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_eq(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if a == b {
            return Some(self.bool(true));
        }
        if self.complementary(a, b) {
            return Some(self.bool(false));
        }
        if self.width(a) == 1 {
            let differs = self.xor(a, b);
            return Some(self.not(differs));
        }
        if (self.is_sum(a) || self.is_sum(b))
            && let Some(decided) = self.eq_linear(a, b)
        {
            return Some(decided);
        }
        if let Some(value) = self.as_const(b) {
            return self.eq_const(a, value);
        }
        match (*self.node(a), *self.node(b)) {
            (Node::Not(x), Node::Not(y)) => return Some(self.eq(x, y)),
            (Node::Sext(x), Node::Sext(y)) if self.width(x) == self.width(y) => {
                return Some(self.eq(x, y));
            }
            (Node::Intern(x1, y1), Node::Intern(x2, y2)) => {
                let (first, second) = (self.eq(x1, x2), self.eq(y1, y2));
                return Some(self.and(first, second));
            }
            (Node::Ite(c, t, e), _) if t == b || e == b => {
                return Some(self.eq_chosen(c, t, e, b));
            }
            (_, Node::Ite(c, t, e)) if t == a || e == a => {
                return Some(self.eq_chosen(c, t, e, a));
            }
            _ => {}
        }
        self.eq_parts(a, b)
    }

    /// Returns `(c ? t : e) == x` as `c ? t == x : e == x`. The caller ensures that this is
    /// simpler: `x` equals `t` or `e`, or one of the three terms is constant.
    fn eq_chosen(&mut self, c: TermId, t: TermId, e: TermId, x: TermId) -> TermId {
        let (when_set, when_clear) = (self.eq(t, x), self.eq(e, x));
        self.ite(c, when_set, when_clear)
    }

    /// Rewrites an equality as `a - b == 0` and cancels common addends. Returns `None` if this
    /// changes nothing.
    fn eq_linear(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        let (x, y) = (self.linear(a), self.linear(b));
        let difference = self.merge_shifted(x.plus(&y, u64::MAX));
        if difference.terms.is_empty() {
            return Some(self.bool(difference.constant == 0));
        }
        if let Some((lo, hi)) = difference.range(self)
            && let Some(below) = lo.checked_sub(1)
            && below >> width == hi >> width
        {
            // The range of the difference contains no multiple of 2^width.
            return Some(self.bool(false));
        }
        let multiple_of = self.common_power(&difference);
        if difference.constant & mask(multiple_of) != 0 {
            return Some(self.bool(false));
        }
        if let [(term, factor)] = difference.terms[..] {
            if factor & 1 == 0 {
                return None;
            }
            let value = difference.constant.wrapping_neg().wrapping_mul(inverse(factor));
            if term == a && self.as_const(b) == Some(value & mask(width)) {
                return None;
            }
            let value = self.constant(width, value);
            return Some(self.eq(term, value));
        }
        let flip = difference.signed_factor(0) < 0;
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (n, &(term, factor)) in difference.terms.iter().enumerate() {
            if (difference.signed_factor(n) < 0) == flip {
                left.push((term, if flip { factor.wrapping_neg() } else { factor }));
            } else {
                right.push((term, if flip { factor } else { factor.wrapping_neg() }));
            }
        }
        let constant = if flip { difference.constant } else { difference.constant.wrapping_neg() };
        let zero = Linear { terms: Vec::new(), constant: 0, width };
        let left = zero.clone().plus(&Linear { terms: left, constant: 0, width }, 1);
        let right = zero.plus(&Linear { terms: right, constant, width }, 1);
        let (left, right) = (self.sum(&left), self.sum(&right));
        let (left, right) = self.ordered(left, right);
        if (left, right) == (a, b) {
            return None;
        }
        Some(self.eq(left, right))
    }

    /// Returns the number of low bits (at most 63) that are zero in every addend of a linear
    /// combination.
    fn common_power(&self, linear: &Linear) -> u8 {
        let zeros = |&(t, factor): &(TermId, u64)| {
            factor.trailing_zeros() + u32::from(self.trailing_zeros(t))
        };
        linear.terms.iter().map(zeros).min().unwrap_or(0).min(63) as u8
    }

    fn eq_const(&mut self, a: TermId, value: u64) -> Option<TermId> {
        let width = self.width(a);
        let m = mask(width);
        match *self.node(a) {
            Node::Not(x) => {
                let value = self.constant(width, !value);
                Some(self.eq(x, value))
            }
            Node::Xor(x, k) => match self.as_const(k) {
                Some(flipped) => {
                    let value = self.constant(width, value ^ flipped);
                    Some(self.eq(x, value))
                }
                None if value == 0 => Some(self.eq(x, k)),
                None => None,
            },
            Node::Or(x, y) if value == 0 => {
                let zero = self.constant(width, 0);
                let (x, y) = (self.eq(x, zero), self.eq(y, zero));
                Some(self.and(x, y))
            }
            Node::And(x, y) if value == m => {
                let ones = self.constant(width, m);
                let (x, y) = (self.eq(x, ones), self.eq(y, ones));
                Some(self.and(x, y))
            }
            Node::Concat(..) => self.eq_assembled(a, value),
            Node::Sext(x) => {
                let inner = self.width(x);
                let low = value & mask(inner);
                let extended = crate::domain::sign_extend(low, inner) as u64 & m;
                if extended != value {
                    return Some(self.bool(false));
                }
                let low = self.constant(inner, low);
                Some(self.eq(x, low))
            }
            Node::Ite(c, t, e) if self.as_const(t).is_some() || self.as_const(e).is_some() => {
                let value = self.constant(width, value);
                Some(self.eq_chosen(c, t, e, value))
            }
            _ => None,
        }
    }

    /// Simplifies the equality of a concatenation and the constant `value`. Constant parts of the
    /// concatenation are compared now and dropped.
    fn eq_assembled(&mut self, a: TermId, value: u64) -> Option<TermId> {
        if !self.has_constant_part(a) {
            return None;
        }
        let mut parts: Vec<(TermId, u64)> = Vec::new();
        let mut rest = a;
        loop {
            let (part, below) = match *self.node(rest) {
                Node::Concat(h, l) => (h, Some(l)),
                _ => (rest, None),
            };
            let shift = below.map_or(0, |l| self.width(l));
            let wanted = value >> shift & mask(self.width(part));
            match self.as_const(part) {
                Some(known) if known != wanted => return Some(self.bool(false)),
                Some(_) => {}
                None => parts.push((part, wanted)),
            }
            match below {
                Some(l) => rest = l,
                None => break,
            }
        }
        let mut together: Option<(TermId, u64)> = None;
        for &(part, wanted) in parts.iter().rev() {
            together = Some(match together {
                None => (part, wanted),
                Some((low, low_value)) => {
                    let by = self.width(low);
                    (self.concat(part, low), (wanted << by) | low_value)
                }
            });
        }
        let (narrow, wanted) = together?;
        let wanted = self.constant(self.width(narrow), wanted);
        Some(self.eq(narrow, wanted))
    }

    /// Compares the parts of two concatenations one by one. Returns `None` unless some parts are
    /// identical or can never be equal.
    fn eq_parts(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        // If both have constant top bits, compare and drop these.
        let top = self.constant_top(a).min(self.constant_top(b));
        if top > 0 && top < width {
            let below = width - top;
            if self.domain(a).lo() >> below != self.domain(b).lo() >> below {
                return Some(self.bool(false));
            }
            let (a, b) = (self.extract(a, 0, below), self.extract(b, 0, below));
            return Some(self.eq(a, b));
        }
        let bottom = self.constant_bottom(a).min(self.constant_bottom(b));
        if bottom > 0 && bottom < width {
            let above = width - bottom;
            if (self.domain(a).ones() ^ self.domain(b).ones()) & mask(bottom) != 0 {
                return Some(self.bool(false));
            }
            let (a, b) = (self.extract(a, bottom, above), self.extract(b, bottom, above));
            return Some(self.eq(a, b));
        }
        let (Node::Concat(h1, l1), Node::Concat(h2, l2)) = (*self.node(a), *self.node(b)) else {
            return None;
        };
        if self.width(l1) != self.width(l2) {
            return None;
        }
        if h1 == h2 {
            return Some(self.eq(l1, l2));
        }
        if l1 == l2 {
            return Some(self.eq(h1, h2));
        }
        let apart = decide_eq(self.domain(h1), self.domain(h2)) == Some(false)
            || decide_eq(self.domain(l1), self.domain(l2)) == Some(false);
        apart.then(|| self.bool(false))
    }
}

/// Returns the inverse of an odd number modulo 2^64 (Newton's iteration; each step doubles the
/// number of correct bits).
fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    for _ in 0..5 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
    }
    x
}
