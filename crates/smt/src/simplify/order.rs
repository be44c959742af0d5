//! Simplifies unsigned and signed comparisons. Comparisons with a constant are normalised to `x <
//! constant` or its complement, so that a condition and its opposite are recognised.

use crate::domain::mask;
use crate::pool::TermPool;
use crate::simplify::sum::Linear;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_ult(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if a == b {
            return Some(self.bool(false));
        }
        let width = self.width(a);
        if width == 1 {
            let not_a = self.not(a);
            return Some(self.and(not_a, b));
        }
        if (self.is_sum(a) || self.is_sum(b))
            && let Some(decided) = self.ult_linear(a, b)
        {
            return Some(decided);
        }
        let (da, db) = (self.domain(a), self.domain(b));
        // If the constant is next to a bound of the other operand's domain, the comparison is an
        // equality.
        if let Some(bound) = self.as_const(b) {
            if bound == da.lo() + 1 {
                let least = self.constant(width, da.lo());
                return Some(self.eq(a, least));
            }
            if bound == da.hi() {
                let greatest = self.constant(width, bound);
                let equal = self.eq(a, greatest);
                return Some(self.not(equal));
            }
        }
        if let Some(bound) = self.as_const(a) {
            if bound == db.lo() {
                let least = self.constant(width, bound);
                let equal = self.eq(b, least);
                return Some(self.not(equal));
            }
            if bound + 1 == db.hi() {
                let greatest = self.constant(width, db.hi());
                return Some(self.eq(b, greatest));
            }
            // `k < b` is `!(b < k + 1)`. Domains have decided the greatest `k`, so `k + 1` does not
            // wrap.
            let next = self.constant(width, bound + 1);
            let below = self.ult(b, next);
            return Some(self.not(below));
        }
        match (*self.node(a), *self.node(b)) {
            (Node::Not(x), Node::Not(y)) => return Some(self.ult(y, x)),
            (Node::Not(x), Node::Const(k)) => {
                let k = self.constant(width, !k);
                return Some(self.ult(k, x));
            }
            (Node::Ite(c, t, e), Node::Const(_))
                if self.as_const(t).is_some() || self.as_const(e).is_some() =>
            {
                let (t, e) = (self.ult(t, b), self.ult(e, b));
                return Some(self.ite(c, t, e));
            }
            _ => {}
        }
        self.ult_parts(a, b)
    }

    /// Cancels addends that are on both sides of a comparison. Returns `None` if cancelling changes
    /// nothing, or if a side wraps around a different number of times for different values.
    fn ult_linear(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        let (x, y) = (self.linear(a), self.linear(b));
        let (carry_x, carry_y) = (x.carry(self)?, y.carry(self)?);
        // As integers: sum(x) + constant_x - carry_x * 2^w  <  sum(y) + constant_y - carry_y * 2^w
        let carried = carry_x.checked_sub(carry_y)?.checked_mul(1 << width)?;
        let slack = carried.checked_add(i128::from(y.constant) - i128::from(x.constant))?;
        let (left, right) = separate(&x, &y)?;
        let (left_lo, left_hi) = left.range(self)?;
        let (right_lo, right_hi) = right.range(self)?;
        if left_hi < right_lo.checked_add(slack)? {
            return Some(self.bool(true));
        }
        if left_lo >= right_hi.checked_add(slack)? {
            return Some(self.bool(false));
        }
        let limit = i128::from(mask(width));
        let (left_offset, right_offset) = (0.max(slack.checked_neg()?), 0.max(slack));
        if left_hi.checked_add(left_offset)? > limit || right_hi.checked_add(right_offset)? > limit
        {
            return None;
        }
        let left = Linear { constant: left_offset as u64, ..left };
        let right = Linear { constant: right_offset as u64, ..right };
        let (left, right) = (self.sum(&left), self.sum(&right));
        if (left, right) == (a, b) {
            return None;
        }
        Some(self.ult(left, right))
    }

    /// Removes equal top parts of two concatenations, and low parts that cannot affect the
    /// comparison.
    fn ult_parts(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        let top = self.constant_top(a).min(self.constant_top(b));
        if top > 0 && top < width {
            // Domains have decided the comparison if the constant tops differ in their value.
            let below = width - top;
            let (low_a, low_b) = (self.extract(a, 0, below), self.extract(b, 0, below));
            if self.domain(a).lo() >> below == self.domain(b).lo() >> below {
                return Some(self.ult(low_a, low_b));
            }
        }
        if let (Node::Concat(h1, l1), Node::Concat(h2, l2)) = (*self.node(a), *self.node(b))
            && h1 == h2
            && self.width(l1) == self.width(l2)
        {
            return Some(self.ult(l1, l2));
        }
        self.ult_drop_bottom(a, b)
    }

    /// Drops low parts whose comparison has the same result for all values. `h1.l1 < h2.l2` becomes
    /// `h1 <= h2` if `l1 < l2` always holds, and `h1 < h2` if it never holds.
    fn ult_drop_bottom(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let bottom = match (self.bottom_width(a), self.bottom_width(b)) {
            (Some(x), Some(y)) if x == y => x,
            (Some(x), None) if self.as_const(b).is_some() => x,
            _ => return None,
        };
        let above = self.width(a) - bottom;
        let (low_a, low_b) = (self.extract(a, 0, bottom), self.extract(b, 0, bottom));
        let decided = crate::domain::transfer::decide_ult(self.domain(low_a), self.domain(low_b))?;
        let (high_a, high_b) = (self.extract(a, bottom, above), self.extract(b, bottom, above));
        Some(if decided { self.ule(high_a, high_b) } else { self.ult(high_a, high_b) })
    }

    /// Returns the width of the lowest part of a concatenation, or `None` for other terms.
    fn bottom_width(&self, t: TermId) -> Option<u8> {
        let Node::Concat(_, mut rest) = *self.node(t) else { return None };
        while let Node::Concat(_, l) = *self.node(rest) {
            rest = l;
        }
        Some(self.width(rest))
    }

    pub(super) fn simplify_slt(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if a == b {
            return Some(self.bool(false));
        }
        let width = self.width(a);
        if width == 1 {
            // A single bit that is set means -1.
            let not_b = self.not(b);
            return Some(self.and(a, not_b));
        }
        let (sign_a, sign_b) = (self.domain(a).sign(), self.domain(b).sign());
        if sign_a.is_some() && sign_a == sign_b {
            return Some(self.ult(a, b));
        }
        let greatest = mask(width) >> 1;
        if let Some(bound) = self.as_const(b) {
            if bound == 0 {
                return Some(self.extract(a, width - 1, 1));
            }
            if bound == greatest {
                let equal = self.eq(a, b);
                return Some(self.not(equal));
            }
            if bound == greatest + 2 {
                let least = self.constant(width, greatest + 1);
                return Some(self.eq(a, least));
            }
        }
        if let Some(bound) = self.as_const(a) {
            if bound == mask(width) {
                let negative = self.extract(b, width - 1, 1);
                return Some(self.not(negative));
            }
            // `k < b` is `!(b < k + 1)`. Domains have decided the greatest `k`, so `k + 1` does not
            // wrap.
            let next = self.constant(width, bound.wrapping_add(1));
            let below = self.slt(b, next);
            return Some(self.not(below));
        }
        match (*self.node(a), *self.node(b)) {
            (Node::Sext(x), Node::Sext(y)) => {
                let narrow = self.width(x).max(self.width(y));
                let (x, y) = (self.sext(x, narrow), self.sext(y, narrow));
                Some(self.slt(x, y))
            }
            (Node::Sext(x), Node::Const(k)) => {
                // Domains have decided comparisons with bounds outside the narrow range.
                let narrow = self.width(x);
                let k = self.constant(narrow, k);
                (self.sext(k, width) == b).then(|| self.slt(x, k))
            }
            (Node::Not(x), Node::Not(y)) => Some(self.slt(y, x)),
            (Node::Concat(h1, l1), Node::Concat(h2, l2))
                if h1 == h2 && self.width(l1) == self.width(l2) =>
            {
                Some(self.ult(l1, l2))
            }
            (Node::Ite(c, t, e), Node::Const(_))
                if self.as_const(t).is_some() || self.as_const(e).is_some() =>
            {
                let (t, e) = (self.slt(t, b), self.slt(e, b));
                Some(self.ite(c, t, e))
            }
            _ => None,
        }
    }
}

/// Splits the terms of `x - y` by the sign of their factors. Terms with positive factors form the
/// left side; terms with negative factors form the right side, with the sign reversed. Returns
/// `None` if a factor overflows the width.
fn separate(x: &Linear, y: &Linear) -> Option<(Linear, Linear)> {
    let width = x.width;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < x.terms.len() || j < y.terms.len() {
        let next_x = x.terms.get(i).map(|&(t, _)| t);
        let next_y = y.terms.get(j).map(|&(t, _)| t);
        let term = match (next_x, next_y) {
            (Some(p), Some(q)) => p.min(q),
            (Some(p), None) => p,
            (None, Some(q)) => q,
            (None, None) => break,
        };
        let mut factor = 0;
        if next_x == Some(term) {
            factor += x.signed_factor(i);
            i += 1;
        }
        if next_y == Some(term) {
            factor -= y.signed_factor(j);
            j += 1;
        }
        // A factor must stay positive if it is read as a signed number of this width.
        if factor.unsigned_abs() >= 1 << (width - 1) {
            return None;
        }
        match factor {
            0 => {}
            f if f > 0 => left.push((term, f as u64)),
            f => right.push((term, (-f) as u64)),
        }
    }
    let linear = |terms| Linear { terms, constant: 0, width };
    Some((linear(left), linear(right)))
}
