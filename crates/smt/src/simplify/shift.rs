//! Simplifies shifts. A shift by a constant becomes a slice; a shift by an unknown amount stays.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    /// Returns the constant shift amount, at most the width of `a`, or `None` if it is not
    /// constant.
    fn amount(&self, a: TermId, b: TermId) -> Option<u8> {
        let width = self.width(a);
        Some(self.as_const(b)?.min(u64::from(width)) as u8)
    }

    /// If a shift amount is `c ? t : e` with constants `t` and `e`, returns these three terms.
    /// Returns `None` for other amounts.
    fn either_amount(&self, b: TermId) -> Option<(TermId, TermId, TermId)> {
        match *self.node(b) {
            Node::Ite(c, t, e) if self.as_const(t).is_some() && self.as_const(e).is_some() => {
                Some((c, t, e))
            }
            _ => None,
        }
    }

    pub(super) fn simplify_shl(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if let Some((c, t, e)) = self.either_amount(b) {
            let (t, e) = (self.shl(a, t), self.shl(a, e));
            return Some(self.ite(c, t, e));
        }
        let by = self.amount(a, b)?;
        if by == 0 {
            return Some(a);
        }
        let zeros = self.constant(by, 0);
        if by == width {
            return Some(zeros);
        }
        let kept = self.extract(a, 0, width - by);
        Some(self.concat(kept, zeros))
    }

    pub(super) fn simplify_lshr(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if let Some((c, t, e)) = self.either_amount(b) {
            let (t, e) = (self.lshr(a, t), self.lshr(a, e));
            return Some(self.ite(c, t, e));
        }
        let by = self.amount(a, b)?;
        if by == width {
            return Some(self.constant(width, 0));
        }
        let kept = self.extract(a, by, width - by);
        Some(self.zext(kept, width))
    }

    pub(super) fn simplify_ashr(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if self.domain(a).sign() == Some(false) {
            return Some(self.lshr(a, b));
        }
        if let Some((c, t, e)) = self.either_amount(b) {
            let (t, e) = (self.ashr(a, t), self.ashr(a, e));
            return Some(self.ite(c, t, e));
        }
        let by = self.amount(a, b)?.min(width - 1);
        let kept = self.extract(a, by, width - by);
        Some(self.sext(kept, width))
    }
}
