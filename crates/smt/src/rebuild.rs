//! Rebuilds terms from other operands, and substitutes subterms.

use std::collections::HashMap;

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    /// Returns a term with the operator of `t` and the operands `children`, simplified. `children`
    /// must match [`children`](TermPool::children) of `t` in number and widths. Constants and
    /// variables have no children and are returned unchanged; the child of a `Select` is its index.
    pub fn rebuild(&mut self, t: TermId, children: &[TermId]) -> TermId {
        let node = *self.node(t);
        let width = self.width(t);
        debug_assert_eq!(node.operands().into_iter().flatten().count(), children.len());
        match (node, children) {
            (Node::Select { array, .. }, &[i]) => self.select(array, i),
            (Node::Not(_), &[a]) => self.not(a),
            (Node::Neg(_), &[a]) => self.neg(a),
            (Node::And(..), &[a, b]) => self.and(a, b),
            (Node::Or(..), &[a, b]) => self.or(a, b),
            (Node::Xor(..), &[a, b]) => self.xor(a, b),
            (Node::Add(..), &[a, b]) => self.add(a, b),
            (Node::Mul(..), &[a, b]) => self.mul(a, b),
            (Node::Udiv(..), &[a, b]) => self.udiv(a, b),
            (Node::Urem(..), &[a, b]) => self.urem(a, b),
            (Node::Sdiv(..), &[a, b]) => self.sdiv(a, b),
            (Node::Srem(..), &[a, b]) => self.srem(a, b),
            (Node::Shl(..), &[a, b]) => self.shl(a, b),
            (Node::Lshr(..), &[a, b]) => self.lshr(a, b),
            (Node::Ashr(..), &[a, b]) => self.ashr(a, b),
            (Node::Eq(..), &[a, b]) => self.eq(a, b),
            (Node::Ult(..), &[a, b]) => self.ult(a, b),
            (Node::Slt(..), &[a, b]) => self.slt(a, b),
            (Node::Concat(..), &[a, b]) => self.concat(a, b),
            (Node::Intern(..), &[a, b]) => self.intern(a, b),
            (Node::Extract { lo, .. }, &[a]) => self.extract(a, lo, width),
            (Node::Sext(_), &[a]) => self.sext(a, width),
            (Node::Ite(..), &[c, a, b]) => self.ite(c, a, b),
            _ => t,
        }
    }

    /// Returns `t` with every subterm that is a key of `map` replaced by its value in `map`,
    /// simplified. Adds the results for all subterms to `map`, so later calls reuse them.
    pub fn substitute(&mut self, t: TermId, map: &mut HashMap<TermId, TermId>) -> TermId {
        let mut stack = vec![t];
        let mut children = Vec::new();
        while let Some(&top) = stack.last() {
            if map.contains_key(&top) {
                stack.pop();
                continue;
            }
            let pending = stack.len();
            stack.extend(self.children(top).filter(|c| !map.contains_key(c)));
            if stack.len() == pending {
                children.clear();
                children.extend(self.children(top).filter_map(|c| map.get(&c).copied()));
                let image = self.rebuild(top, &children);
                map.insert(top, image);
                stack.pop();
            }
        }
        map[&t]
    }
}
