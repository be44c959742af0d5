//! Simplifies concatenations, extracts and sign extensions. The normal form of an assembled value
//! is a right-nested `Concat` without adjacent parts that could be merged.

use crate::domain::mask;
use crate::pool::TermPool;
use crate::term::{Node, TermId};

impl TermPool {
    pub(super) fn simplify_concat(&mut self, hi: TermId, lo: TermId) -> Option<TermId> {
        if self.is_zero(hi)
            && let Some(wide) = self.widened_sum(hi, lo)
        {
            return Some(wide);
        }
        if let Node::Concat(top, rest) = *self.node(hi) {
            let lower = self.concat(rest, lo);
            return Some(self.concat(top, lower));
        }
        let (next, tail) = match *self.node(lo) {
            Node::Concat(next, tail) => (next, Some(tail)),
            _ => (lo, None),
        };
        let merged = self.merge_neighbours(hi, next)?;
        Some(match tail {
            Some(tail) => self.concat(merged, tail),
            None => merged,
        })
    }

    /// Merges two adjacent parts of a concatenation into one term. Neither part may be a
    /// concatenation. Returns `None` if they cannot be merged.
    fn merge_neighbours(&mut self, hi: TermId, lo: TermId) -> Option<TermId> {
        let (hi_width, lo_width) = (self.width(hi), self.width(lo));
        match (*self.node(hi), *self.node(lo)) {
            (Node::Const(h), Node::Const(l)) => {
                Some(self.constant(hi_width + lo_width, (h << lo_width) | l))
            }
            (Node::Extract { src, lo: above }, Node::Extract { src: same, lo: from })
                if src == same && above == from + lo_width =>
            {
                Some(self.extract(src, from, hi_width + lo_width))
            }
            (Node::Const(h), Node::Extract { src, lo: 0 }) => {
                // If the constant equals the known upper bits of `src`, the result is `src` without
                // an extract.
                let rest = self.width(src) - lo_width;
                let domain = self.domain(src);
                let above = |bits: u64| bits >> lo_width & mask(rest);
                let known = above(domain.zeros() | domain.ones()) == mask(rest);
                if rest > hi_width || !known || above(domain.ones()) != h & mask(rest) {
                    return None;
                }
                if rest == hi_width {
                    return Some(src);
                }
                let top = self.constant(hi_width - rest, h >> rest);
                Some(self.concat(top, src))
            }
            _ => None,
        }
    }

    /// Returns the zero extension of a sum of truncated values as a sum of the full values. Returns
    /// `None` if the sum may wrap. Such sums occur where a pointer was truncated to 32 bits and
    /// extended again.
    fn widened_sum(&mut self, zeros: TermId, sum: TermId) -> Option<TermId> {
        if !matches!(self.node(sum), Node::Add(..)) {
            return None;
        }
        let width = self.width(zeros) + self.width(sum);
        let cut = |pool: &Self, t: TermId| match *pool.node(t) {
            Node::Extract { src, lo: 0 } => {
                let beyond = pool.domain(src).hi().checked_shr(pool.width(t).into());
                pool.width(src) <= width && beyond.unwrap_or(0) == 0
            }
            _ => false,
        };
        let mut rest = sum;
        while let Node::Add(a, b) = *self.node(rest) {
            if cut(self, a) || cut(self, b) {
                let linear = self.linear_concat(zeros, sum)?;
                return Some(self.sum(&linear));
            }
            rest = a;
        }
        None
    }

    pub(super) fn simplify_extract(&mut self, src: TermId, lo: u8, width: u8) -> Option<TermId> {
        let (src, lo, moved) = self.narrow_source(src, lo, width);
        if moved {
            return Some(self.extract(src, lo, width));
        }
        match *self.node(src) {
            Node::Concat(h, l) => {
                // `narrow_source` has handled bits from a single part, so these bits come from both
                // parts.
                let lo_width = self.width(l);
                let low = self.extract(l, lo, lo_width - lo);
                let high = self.extract(h, 0, lo + width - lo_width);
                Some(self.concat(high, low))
            }
            Node::Sext(inner) => {
                let inner_width = self.width(inner);
                let from = lo.min(inner_width - 1);
                let low = self.extract(inner, from, inner_width - from);
                Some(self.sext(low, width))
            }
            Node::Not(a) => {
                let a = self.extract(a, lo, width);
                Some(self.not(a))
            }
            Node::And(a, b) => {
                let (a, b) = self.extract_both(a, b, lo, width);
                Some(self.and(a, b))
            }
            Node::Or(a, b) => {
                let (a, b) = self.extract_both(a, b, lo, width);
                Some(self.or(a, b))
            }
            Node::Xor(a, b) => {
                let (a, b) = self.extract_both(a, b, lo, width);
                Some(self.xor(a, b))
            }
            Node::Ite(c, t, e) if self.is_assembled(t) || self.is_assembled(e) => {
                let (t, e) = self.extract_both(t, e, lo, width);
                Some(self.ite(c, t, e))
            }
            Node::Neg(a) if lo == 0 => {
                let a = self.extract(a, 0, width);
                Some(self.neg(a))
            }
            // If one operand has only zeros below bit `lo`, no carry enters bit `lo`.
            Node::Add(a, b) if self.trailing_zeros(a).max(self.trailing_zeros(b)) >= lo => {
                let (a, b) = self.extract_both(a, b, lo, width);
                Some(self.add(a, b))
            }
            Node::Mul(a, b) if lo == 0 => {
                let (a, b) = self.extract_both(a, b, lo, width);
                Some(self.mul(a, b))
            }
            _ => None,
        }
    }

    /// Follows nested extracts, sign extensions and parts of concatenations to the term from which
    /// `width` bits of `src` come. Returns this term, the position of the lowest bit in it, and
    /// whether it differs from `src`.
    fn narrow_source(&self, src: TermId, lo: u8, width: u8) -> (TermId, u8, bool) {
        let (mut src, mut lo, mut moved) = (src, lo, false);
        loop {
            match *self.node(src) {
                Node::Concat(h, l) => {
                    let lo_width = self.width(l);
                    if lo >= lo_width {
                        (src, lo) = (h, lo - lo_width);
                    } else if lo + width <= lo_width {
                        src = l;
                    } else {
                        return (src, lo, moved);
                    }
                }
                Node::Extract { src: inner, lo: from } => (src, lo) = (inner, lo + from),
                Node::Sext(inner) if lo + width <= self.width(inner) => src = inner,
                _ => return (src, lo, moved),
            }
            moved = true;
        }
    }

    fn extract_both(&mut self, a: TermId, b: TermId, lo: u8, width: u8) -> (TermId, TermId) {
        (self.extract(a, lo, width), self.extract(b, lo, width))
    }

    /// Returns true for constants, concatenations and extracts: extracting bits from them always
    /// yields a smaller term.
    fn is_assembled(&self, t: TermId) -> bool {
        matches!(self.node(t), Node::Const(_) | Node::Concat(..) | Node::Extract { .. })
    }

    /// Returns the number of low bits that are known to be zero.
    pub(super) fn trailing_zeros(&self, t: TermId) -> u8 {
        self.domain(t).zeros().trailing_ones() as u8
    }

    pub(super) fn simplify_sext(&mut self, a: TermId, width: u8) -> Option<TermId> {
        let added = width - self.width(a);
        if let Some(sign) = self.domain(a).sign() {
            let top = self.constant(added, if sign { u64::MAX } else { 0 });
            return Some(self.concat(top, a));
        }
        match *self.node(a) {
            Node::Sext(inner) => Some(self.sext(inner, width)),
            _ => None,
        }
    }
}
