//! Simplifies quotients and remainders. Division by a power of two becomes a slice. Leading zeros
//! of the dividend make the operation narrower. Signed division of two non-negative numbers becomes
//! unsigned.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_udiv(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if a == b && self.domain(a).lo() > 0 {
            return Some(self.constant(width, 1));
        }
        let divisor = self.as_const(b)?;
        if divisor.is_power_of_two() {
            let by = self.constant(width, u64::from(divisor.trailing_zeros()));
            return Some(self.lshr(a, by));
        }
        let (inner, inner_divisor) = self.narrow_division(a, divisor)?;
        let quotient = self.udiv(inner, inner_divisor);
        Some(self.zext(quotient, width))
    }

    pub(super) fn simplify_urem(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        if a == b {
            return Some(self.constant(width, 0));
        }
        if self.domain(a).hi() < self.domain(b).lo() {
            return Some(a);
        }
        let divisor = self.as_const(b)?;
        if divisor == 0 {
            return Some(a);
        }
        if divisor.is_power_of_two() {
            let low = self.constant(width, divisor - 1);
            return Some(self.and(a, low));
        }
        let (inner, inner_divisor) = self.narrow_division(a, divisor)?;
        let remainder = self.urem(inner, inner_divisor);
        Some(self.zext(remainder, width))
    }

    /// Drops the leading zeros of the dividend from both operands. Returns `None` if it has none,
    /// or if the divisor is zero or does not fit in the narrower width.
    fn narrow_division(&mut self, a: TermId, divisor: u64) -> Option<(TermId, TermId)> {
        let Node::Concat(top, inner) = *self.node(a) else { return None };
        let width = self.width(inner);
        if !self.is_zero(top) || divisor == 0 || divisor > crate::domain::mask(width) {
            return None;
        }
        Some((inner, self.constant(width, divisor)))
    }

    pub(super) fn simplify_sdiv(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if (self.domain(a).sign(), self.domain(b).sign()) == (Some(false), Some(false)) {
            return Some(self.udiv(a, b));
        }
        if self.width(a) > 1 && self.as_const(b) == Some(1) {
            return Some(a);
        }
        self.is_ones(b).then(|| self.neg(a))
    }

    pub(super) fn simplify_srem(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if (self.domain(a).sign(), self.domain(b).sign()) == (Some(false), Some(false)) {
            return Some(self.urem(a, b));
        }
        if self.is_zero(b) {
            return Some(a);
        }
        (a == b || self.is_ones(b) || (self.width(a) > 1 && self.as_const(b) == Some(1)))
            .then(|| self.constant(self.width(a), 0))
    }
}
