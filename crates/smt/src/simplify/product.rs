//! Simplifies products. The linear arithmetic in `sum` handles products with a constant.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_mul(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if width == 1 {
            return Some(self.and(a, b));
        }
        if let Some(factor) = self.as_const(b) {
            if factor == 1 {
                return Some(a);
            }
            if factor == 0 {
                return Some(b);
            }
            if self.is_ones(b) {
                return Some(self.neg(a));
            }
            return self.scaled(a, factor);
        }
        match (*self.node(a), *self.node(b)) {
            (Node::Neg(x), _) => {
                let product = self.mul(x, b);
                Some(self.neg(product))
            }
            (_, Node::Neg(y)) => {
                let product = self.mul(a, y);
                Some(self.neg(product))
            }
            _ => None,
        }
    }
}
