//! Simplifies choices (`ite`, if-then-else). Choices between single bits become Boolean operators.
//! Nested choices on the same condition are resolved. Constant bits that both branches share move
//! outside.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_ite(&mut self, c: TermId, t: TermId, e: TermId) -> Option<TermId> {
        match self.as_const(c) {
            Some(0) => return Some(e),
            Some(_) => return Some(t),
            None => {}
        }
        if t == e {
            return Some(t);
        }
        if let Node::Not(inner) = *self.node(c) {
            return Some(self.ite(inner, e, t));
        }
        if self.width(t) == 1 {
            return self.ite_bit(c, t, e);
        }
        if let Node::Ite(d, then, _) = *self.node(t)
            && c == d
        {
            return Some(self.ite(c, then, e));
        }
        if let Node::Ite(d, _, otherwise) = *self.node(e)
            && c == d
        {
            return Some(self.ite(c, t, otherwise));
        }
        if let Node::Eq(x, y) = *self.node(c) {
            // `x == y ? y : x` and its variants are equal to the else branch.
            if (t == x && e == y) || (t == y && e == x) {
                return Some(e);
            }
        }
        self.factor_common_ends(c, t, e)
    }

    /// Rewrites a choice between single bits as Boolean operators.
    fn ite_bit(&mut self, c: TermId, t: TermId, e: TermId) -> Option<TermId> {
        let one = |pool: &TermPool, x: TermId| x == c || pool.is_ones(x);
        let zero = |pool: &TermPool, x: TermId| x == c || pool.is_zero(x);
        if one(self, t) {
            return Some(self.or(c, e));
        }
        if zero(self, e) {
            return Some(self.and(c, t));
        }
        if self.is_zero(t) || self.complementary(t, c) {
            let not_c = self.not(c);
            return Some(self.and(not_c, e));
        }
        if self.is_ones(e) || self.complementary(e, c) {
            let not_c = self.not(c);
            return Some(self.or(not_c, t));
        }
        if self.complementary(t, e) {
            let differs = self.xor(c, t);
            return Some(self.not(differs));
        }
        None
    }

    /// Moves constant bits that both branches share at the top and the bottom out of a choice. Both
    /// branches must be constants or concatenations with constant ends.
    fn factor_common_ends(&mut self, c: TermId, t: TermId, e: TermId) -> Option<TermId> {
        let width = self.width(t);
        let same = |pool: &TermPool| {
            let (dt, de) = (pool.domain(t), pool.domain(e));
            (dt.zeros() & de.zeros()) | (dt.ones() & de.ones())
        };
        let same = same(self);
        let top = (same << (64 - width)).leading_ones().min(u32::from(width)) as u8;
        let top = top.min(self.constant_top(t)).min(self.constant_top(e));
        let bottom = same.trailing_ones().min(u32::from(width)) as u8;
        let bottom = bottom.min(self.constant_bottom(t)).min(self.constant_bottom(e));
        if top + bottom == 0 || top + bottom >= width {
            return None;
        }
        let middle = width - top - bottom;
        let (then, other) = (self.extract(t, bottom, middle), self.extract(e, bottom, middle));
        let mut result = self.ite(c, then, other);
        if bottom > 0 {
            let low = self.extract(t, 0, bottom);
            result = self.concat(result, low);
        }
        if top > 0 {
            let high = self.extract(t, width - top, top);
            result = self.concat(high, result);
        }
        Some(result)
    }

    /// Returns the width of the constant at the top of a concatenation; 0 if the top is not
    /// constant.
    pub(super) fn constant_top(&self, t: TermId) -> u8 {
        match *self.node(t) {
            Node::Const(_) => self.width(t),
            Node::Concat(h, _) if self.as_const(h).is_some() => self.width(h),
            _ => 0,
        }
    }

    /// Returns the width of the constant at the bottom of a concatenation; 0 if the bottom is not
    /// constant.
    pub(super) fn constant_bottom(&self, t: TermId) -> u8 {
        let mut rest = t;
        while let Node::Concat(_, l) = *self.node(rest) {
            rest = l;
        }
        if self.as_const(rest).is_some() { self.width(rest) } else { 0 }
    }
}
