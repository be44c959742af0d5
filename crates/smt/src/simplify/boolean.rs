//! Simplifies conjunctions and disjunctions of 1-bit terms.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    /// Simplifies a conjunction of two 1-bit terms. The caller has handled constants, equal
    /// operands and complements.
    pub(super) fn simplify_and_bit(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        for (x, y) in [(a, b), (b, a)] {
            match *self.node(x) {
                Node::And(p, q) => {
                    if p == y || q == y {
                        return Some(x);
                    }
                    if self.complementary(p, y) || self.complementary(q, y) {
                        return Some(self.bool(false));
                    }
                }
                Node::Or(p, q) => {
                    if p == y || q == y {
                        return Some(y);
                    }
                    if self.complementary(p, y) {
                        return Some(self.and(q, y));
                    }
                    if self.complementary(q, y) {
                        return Some(self.and(p, y));
                    }
                }
                _ => {}
            }
            match self.implied_by_value(x, y) {
                Some(true) => return Some(x),
                Some(false) => return Some(self.bool(false)),
                None => {}
            }
        }
        None
    }

    /// Simplifies a disjunction of two 1-bit terms. The caller has handled constants, equal
    /// operands and complements.
    pub(super) fn simplify_or_bit(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        for (x, y) in [(a, b), (b, a)] {
            match *self.node(x) {
                Node::Or(p, q) => {
                    if p == y || q == y {
                        return Some(x);
                    }
                    if self.complementary(p, y) || self.complementary(q, y) {
                        return Some(self.bool(true));
                    }
                }
                Node::And(p, q) => {
                    if p == y || q == y {
                        return Some(y);
                    }
                    if self.complementary(p, y) {
                        return Some(self.or(q, y));
                    }
                    if self.complementary(q, y) {
                        return Some(self.or(p, y));
                    }
                }
                _ => {}
            }
            // If `x` is `z == k` and implies `y`, then `x | y` is `y`.
            if self.implied_by_value(x, y) == Some(true) {
                return Some(y);
            }
        }
        None
    }

    /// Returns the value that `bit` must have if `fact` holds. Returns `None` unless `fact` is an
    /// equation `x == k` with a constant `k`, and `bit` compares `x` with a constant.
    fn implied_by_value(&self, fact: TermId, bit: TermId) -> Option<bool> {
        let Node::Eq(x, k) = *self.node(fact) else { return None };
        self.as_const(k)?;
        let (inner, negated) = match *self.node(bit) {
            Node::Not(inner) => (inner, true),
            _ => (bit, false),
        };
        let put = |operand: TermId| if operand == x { k } else { operand };
        let node = match *self.node(inner) {
            Node::Eq(p, q) => Node::Eq(put(p), put(q)),
            Node::Ult(p, q) => Node::Ult(put(p), put(q)),
            Node::Slt(p, q) => Node::Slt(put(p), put(q)),
            _ => return None,
        };
        let holds = self.fold(&node, 1)? == 1;
        Some(holds != negated)
    }
}
