//! Simplifies bitwise operators on more than one bit. An `and` or `or` with a constant becomes a
//! concatenation of slices, and an operator on concatenations is applied to each part. So bytes
//! that are combined with shifts and ors become plain concatenations.

use crate::domain::mask;
use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Maximum number of slices that may replace a mask with a constant.
const MAX_SLICES: u32 = 6;

/// A constructor of a commutative operator with two operands, such as [`TermPool::and`].
type Constructor = fn(&mut TermPool, TermId, TermId) -> TermId;

impl TermPool {
    pub(super) fn simplify_not(&mut self, a: TermId) -> Option<TermId> {
        match *self.node(a) {
            Node::Not(inner) => Some(inner),
            Node::Concat(h, l) if self.has_constant_part(a) => {
                let (h, l) = (self.not(h), self.not(l));
                Some(self.concat(h, l))
            }
            Node::Xor(x, k) if self.as_const(k).is_some() => {
                let k = self.not(k);
                Some(self.xor(x, k))
            }
            Node::Ite(c, t, e) if self.as_const(t).is_some() || self.as_const(e).is_some() => {
                let (t, e) = (self.not(t), self.not(e));
                Some(self.ite(c, t, e))
            }
            // ~(-x) == x - 1
            Node::Neg(x) => {
                let minus_one = self.constant(self.width(a), u64::MAX);
                Some(self.add(x, minus_one))
            }
            _ => None,
        }
    }

    pub(super) fn simplify_and(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if a == b || self.is_ones(b) {
            return Some(a);
        }
        if self.is_zero(b) || self.complementary(a, b) {
            return Some(self.constant(self.width(a), 0));
        }
        if self.width(a) == 1 {
            return self.simplify_and_bit(a, b);
        }
        if let Some(kept) = self.as_const(b) {
            if kept | self.domain(a).zeros() == mask(self.width(a)) {
                return Some(a);
            }
            if let Node::And(x, k) = *self.node(a)
                && let Some(inner) = self.as_const(k)
            {
                let both = self.constant(self.width(a), inner & kept);
                return Some(self.and(x, both));
            }
        }
        if let Some(parts) = self.by_parts(TermPool::and, a, b) {
            return Some(parts);
        }
        if let Some(kept) = self.as_const(b) {
            return self.slice_by_mask(a, kept, false);
        }
        let (a_has_b, b_has_a) = (self.is_operand(b, a), self.is_operand(a, b));
        match (*self.node(a), *self.node(b)) {
            // x & (x & y) and x & (x | y)
            (Node::And(..), _) if a_has_b => Some(a),
            (_, Node::And(..)) if b_has_a => Some(b),
            (_, Node::Or(..)) if b_has_a => Some(a),
            (Node::Or(..), _) if a_has_b => Some(b),
            _ => None,
        }
    }

    pub(super) fn simplify_or(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if a == b || self.is_zero(b) {
            return Some(a);
        }
        if self.is_ones(b) || self.complementary(a, b) {
            return Some(self.constant(self.width(a), u64::MAX));
        }
        if self.width(a) == 1 {
            return self.simplify_or_bit(a, b);
        }
        if let Some(set) = self.as_const(b) {
            if set & !self.domain(a).ones() == 0 {
                return Some(a);
            }
            if let Node::Or(x, k) = *self.node(a)
                && let Some(inner) = self.as_const(k)
            {
                let both = self.constant(self.width(a), inner | set);
                return Some(self.or(x, both));
            }
        }
        if let Some(parts) = self.by_parts(TermPool::or, a, b) {
            return Some(parts);
        }
        if let Some(set) = self.as_const(b) {
            return self.slice_by_mask(a, !set, true);
        }
        let (a_has_b, b_has_a) = (self.is_operand(b, a), self.is_operand(a, b));
        match (*self.node(a), *self.node(b)) {
            // x | (x | y) and x | (x & y)
            (Node::Or(..), _) if a_has_b => Some(a),
            (_, Node::Or(..)) if b_has_a => Some(b),
            (_, Node::And(..)) if b_has_a => Some(a),
            (Node::And(..), _) if a_has_b => Some(b),
            _ => None,
        }
    }

    fn is_operand(&self, inner: TermId, outer: TermId) -> bool {
        self.children(outer).any(|child| child == inner)
    }

    pub(super) fn simplify_xor(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if self.is_zero(b) {
            return Some(a);
        }
        if a == b {
            return Some(self.constant(self.width(a), 0));
        }
        if self.is_ones(b) {
            return Some(self.not(a));
        }
        if self.complementary(a, b) {
            return Some(self.constant(self.width(a), u64::MAX));
        }
        if let Node::Xor(x, y) = *self.node(a) {
            if x == b {
                return Some(y);
            }
            if y == b {
                return Some(x);
            }
            if self.as_const(b).is_some() && self.as_const(y).is_some() {
                let both = self.xor(y, b);
                return Some(self.xor(x, both));
            }
        }
        if let Node::Xor(x, y) = *self.node(b) {
            if x == a {
                return Some(y);
            }
            if y == a {
                return Some(x);
            }
        }
        // A complement is moved outside, where it can cancel with another complement.
        match (*self.node(a), *self.node(b)) {
            (Node::Not(x), Node::Const(_)) => {
                let b = self.not(b);
                return Some(self.xor(x, b));
            }
            (Node::Not(x), _) => {
                let rest = self.xor(x, b);
                return Some(self.not(rest));
            }
            (_, Node::Not(y)) => {
                let rest = self.xor(a, y);
                return Some(self.not(rest));
            }
            _ => {}
        }
        self.by_parts(TermPool::xor, a, b)
    }

    /// Returns true if a part of a concatenation is constant.
    pub(super) fn has_constant_part(&self, t: TermId) -> bool {
        let mut rest = t;
        while let Node::Concat(h, l) = *self.node(rest) {
            if self.as_const(h).is_some() {
                return true;
            }
            rest = l;
        }
        self.as_const(rest).is_some()
    }

    /// Returns true if the known range (minimum and maximum) of the term excludes values that its
    /// known bits alone would allow. Returns false for concatenations and constants.
    fn interval_tells_more(&self, t: TermId) -> bool {
        let domain = self.domain(t);
        let most = mask(self.width(t)) & !domain.zeros();
        let assembled = matches!(self.node(t), Node::Concat(..) | Node::Const(_));
        !assembled && (domain.lo() > domain.ones() || domain.hi() < most)
    }

    /// Splits both operands at a boundary between parts of a concatenation, and applies a bitwise
    /// operator separately to the bits above and below. Returns `None` unless one operand has
    /// constant parts or both operands have the boundary.
    fn by_parts(&mut self, op: Constructor, a: TermId, b: TermId) -> Option<TermId> {
        let boundary = |pool: &TermPool, t: TermId| match *pool.node(t) {
            Node::Concat(_, l) => Some(pool.width(l)),
            _ => None,
        };
        let (in_a, in_b) = (boundary(self, a), boundary(self, b));
        let cut = match (in_a, in_b) {
            (Some(x), _) if self.has_constant_part(a) || self.as_const(b).is_some() => x,
            (_, Some(y)) if self.has_constant_part(b) => y,
            (Some(x), Some(y)) if x == y => x,
            _ => return None,
        };
        // Slices would lose the interval, and with it facts such as "a base address is not zero".
        if self.interval_tells_more(a) || self.interval_tells_more(b) {
            return None;
        }
        let above = self.width(a) - cut;
        let (a_low, b_low) = (self.extract(a, 0, cut), self.extract(b, 0, cut));
        let (a_high, b_high) = (self.extract(a, cut, above), self.extract(b, cut, above));
        let low = op(self, a_low, b_low);
        let high = op(self, a_high, b_high);
        Some(self.concat(high, low))
    }

    /// Returns the bits of `t` that are set in `kept`, with all other bits set to `filler`, as a
    /// concatenation of slices.
    fn slice_by_mask(&mut self, t: TermId, kept: u64, filler: bool) -> Option<TermId> {
        let width = self.width(t);
        let edges = (kept ^ (kept << 1)) & mask(width) & !1;
        if edges.count_ones() + 1 > MAX_SLICES {
            return None;
        }
        let mut result = None;
        let mut lo = 0;
        while lo < width {
            let keep = kept >> lo & 1 == 1;
            let run =
                if keep { (kept >> lo).trailing_ones() } else { (kept >> lo).trailing_zeros() };
            let run = (run.min(64) as u8).min(width - lo);
            let slice = if keep {
                self.extract(t, lo, run)
            } else {
                self.constant(run, if filler { u64::MAX } else { 0 })
            };
            result = Some(match result {
                None => slice,
                Some(below) => self.concat(slice, below),
            });
            lo += run;
        }
        result
    }
}
