//! Linear arithmetic: represents a term as a sum of multiples of other terms plus a constant. This
//! makes pointer comparisons cheap: the difference of two offsets from one unknown base does not
//! contain the base.

use crate::domain::{Domain, mask, sign_extend};
use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Maximum number of addends into which a sum is decomposed. A longer sum counts as a single
/// addend.
const MAX_ADDENDS: usize = 160;

/// A term as a sum of addends and a constant, modulo 2^width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Non-constant addends in order of their ids. A negated addend is a `Neg`; a multiple is a
    /// `Mul` by a constant.
    pub addends: Vec<TermId>,
    /// Constant addend.
    pub constant: u64,
}

/// A linear combination modulo 2^width: distinct terms, sorted by id, with non-zero factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) terms: Vec<(TermId, u64)>,
    pub(super) constant: u64,
    pub(super) width: u8,
}

impl Linear {
    fn constant(width: u8, value: u64) -> Self {
        Linear { terms: Vec::new(), constant: value & mask(width), width }
    }

    fn atom(width: u8, t: TermId) -> Self {
        Linear { terms: vec![(t, 1)], constant: 0, width }
    }

    fn push(&mut self, t: TermId, factor: u64) {
        self.terms.push((t, factor));
    }

    /// Merges multiples of equal terms, and drops terms whose factor is zero.
    fn normalise(&mut self) {
        let m = mask(self.width);
        self.constant &= m;
        self.terms.sort_unstable_by_key(|&(t, _)| t);
        let mut joined: Vec<(TermId, u64)> = Vec::with_capacity(self.terms.len());
        for &(t, factor) in &self.terms {
            match joined.last_mut() {
                Some((last, sum)) if *last == t => *sum = sum.wrapping_add(factor),
                _ => joined.push((t, factor)),
            }
        }
        joined.retain_mut(|(_, factor)| {
            *factor &= m;
            *factor != 0
        });
        self.terms = joined;
    }

    /// Returns `self + other * factor`.
    pub(super) fn plus(mut self, other: &Linear, factor: u64) -> Linear {
        self.terms.extend(other.terms.iter().map(|&(t, f)| (t, f.wrapping_mul(factor))));
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        self.normalise();
        self
    }

    /// Returns the factor of the `n`-th term of the combination as a signed number.
    pub(super) fn signed_factor(&self, n: usize) -> i128 {
        i128::from(sign_extend(self.terms[n].1, self.width))
    }

    /// Returns a lower and an upper bound of the combination as a mathematical integer, with signed
    /// factors and an unsigned constant. Returns `None` if a bound exceeds 128 bits.
    pub(super) fn range(&self, pool: &TermPool) -> Option<(i128, i128)> {
        let mut lo = i128::from(self.constant);
        let mut hi = lo;
        for (n, &(t, _)) in self.terms.iter().enumerate() {
            let factor = self.signed_factor(n);
            let domain = pool.domain(t);
            let one = factor.checked_mul(i128::from(domain.lo()))?;
            let other = factor.checked_mul(i128::from(domain.hi()))?;
            lo = lo.checked_add(one.min(other))?;
            hi = hi.checked_add(one.max(other))?;
        }
        Some((lo, hi))
    }

    /// Returns how many times the sum wraps around 2^width, if this is the same for all values. The
    /// bit-vector is then exactly `integer - carry * 2^width`.
    pub(super) fn carry(&self, pool: &TermPool) -> Option<i128> {
        let (lo, hi) = self.range(pool)?;
        (lo >> self.width == hi >> self.width).then_some(lo >> self.width)
    }
}

impl TermPool {
    /// Splits `t` into addends and a constant: `t == sum(addends) + constant` modulo 2^width.
    /// Decomposes sums, multiples, complements, shifts by constants, and zero extensions of sums
    /// that cannot wrap, into at most [`MAX_ADDENDS`] addends.
    pub fn split_sum(&mut self, t: TermId) -> Sum {
        let linear = self.linear(t);
        let mut addends: Vec<TermId> = linear
            .terms
            .iter()
            .map(|&(x, factor)| self.multiple(x, factor, linear.width))
            .collect();
        addends.sort_unstable();
        Sum { addends, constant: linear.constant }
    }

    /// Returns true if [`linear`](Self::linear) decomposes the term's operator.
    pub(super) fn is_sum(&self, t: TermId) -> bool {
        match *self.node(t) {
            Node::Add(..) | Node::Neg(_) => true,
            Node::Mul(_, k) => self.as_const(k).is_some(),
            Node::Concat(h, l) if self.is_zero(h) => match *self.node(l) {
                Node::Concat(x, _) => self.is_plain_sum(x),
                _ => self.is_plain_sum(l),
            },
            Node::Concat(h, _) => self.is_plain_sum(h),
            _ => false,
        }
    }

    fn is_plain_sum(&self, t: TermId) -> bool {
        matches!(self.node(t), Node::Add(..) | Node::Neg(_))
    }

    /// Returns `t` as a linear combination. A term that is not linear, or is too long, becomes a
    /// single addend.
    pub(super) fn linear(&mut self, t: TermId) -> Linear {
        let width = self.width(t);
        let mut result = Linear::constant(width, 0);
        let mut work = vec![(t, 1u64)];
        let mut steps = 0;
        while let Some((x, factor)) = work.pop() {
            steps += 1;
            if steps > 4 * MAX_ADDENDS || result.terms.len() > MAX_ADDENDS {
                return Linear::atom(width, t);
            }
            match *self.node(x) {
                Node::Const(value) => {
                    result.constant = result.constant.wrapping_add(value.wrapping_mul(factor));
                }
                Node::Add(a, b) => work.extend([(a, factor), (b, factor)]),
                Node::Neg(a) => work.push((a, factor.wrapping_neg())),
                // ~a == -a - 1
                Node::Not(a) if width > 1 => {
                    result.constant = result.constant.wrapping_sub(factor);
                    work.push((a, factor.wrapping_neg()));
                }
                Node::Mul(a, k) if self.as_const(k).is_some() => {
                    let k = self.as_const(k).unwrap_or(1);
                    work.push((a, factor.wrapping_mul(k)));
                }
                Node::Concat(h, l) => match self.linear_concat(h, l) {
                    Some(inner) => {
                        result.constant =
                            result.constant.wrapping_add(inner.constant.wrapping_mul(factor));
                        for (a, f) in inner.terms {
                            if a == x {
                                result.push(a, f.wrapping_mul(factor));
                            } else {
                                work.push((a, f.wrapping_mul(factor)));
                            }
                        }
                    }
                    None => result.push(x, factor),
                },
                _ => result.push(x, factor),
            }
        }
        result.normalise();
        result
    }

    /// Splits a concatenation into a linear combination of concatenations with simpler parts.
    pub(super) fn linear_concat(&mut self, h: TermId, l: TermId) -> Option<Linear> {
        let width = self.width(h) + self.width(l);
        if let Some(low) = self.as_const(l) {
            // A left shift plus a constant: h * 2^k + low.
            let zeros = self.constant(self.width(l), 0);
            let mut result = Linear::constant(width, low);
            match *self.node(h) {
                Node::Add(a, b) => {
                    for x in [a, b] {
                        let shifted = self.concat(x, zeros);
                        result.push(shifted, 1);
                    }
                }
                Node::Neg(a) => {
                    let shifted = self.concat(a, zeros);
                    result.push(shifted, u64::MAX);
                }
                _ if low == 0 => return None,
                _ => {
                    let shifted = self.concat(h, zeros);
                    result.push(shifted, 1);
                }
            }
            return Some(result);
        }
        let top = self.as_const(h)?;
        let (body, shift) = match *self.node(l) {
            Node::Concat(x, k) if self.as_const(k).is_some() => (x, self.width(k)),
            _ => (l, 0),
        };
        if top == 0 && !self.is_plain_sum(body) && (shift == 0 || self.constant_low(l) == Some(0)) {
            return None;
        }
        // The zero extension is exact if the inner sum has an equal carry for all values.
        let inner = self.linear_plain(body);
        let carry = inner.carry(self)?;
        let low = if shift > 0 { self.constant_low(l)? } else { 0 };
        let body_width = self.width(body);
        // The arithmetic is modulo 2^64, so a large carry cannot overflow.
        let offset = inner.constant.wrapping_sub((carry << body_width) as u64);
        let constant = (offset << shift)
            .wrapping_add(low)
            .wrapping_add(top.wrapping_shl(u32::from(body_width + shift)));
        let mut result = Linear::constant(width, constant);
        for n in 0..inner.terms.len() {
            let (x, factor) = (inner.terms[n].0, inner.signed_factor(n) as u64);
            let mut wide = x;
            if shift > 0 {
                let zeros = self.constant(shift, 0);
                wide = self.concat(wide, zeros);
            }
            let wide = self.zext(wide, width);
            result.push(wide, factor);
        }
        Some(result)
    }

    /// Returns the constant low part of a two-part concatenation, or `None` if it is not constant.
    fn constant_low(&self, t: TermId) -> Option<u64> {
        match *self.node(t) {
            Node::Concat(_, k) => self.as_const(k),
            _ => None,
        }
    }

    /// Replaces `x << k` by a multiple of `x` if `x` itself is a term of the combination. Otherwise
    /// the shifted term stays an addend, because its range is tighter than the range of a multiple
    /// that may wrap.
    pub(super) fn merge_shifted(&self, mut linear: Linear) -> Linear {
        let width = linear.width;
        let mut changed = false;
        for n in 0..linear.terms.len() {
            let Node::Concat(h, k) = *self.node(linear.terms[n].0) else { continue };
            let Node::Extract { src, lo: 0 } = *self.node(h) else { continue };
            let scaled = self.is_zero(k) && self.width(src) == width;
            if scaled && linear.terms.iter().any(|&(t, _)| t == src) {
                let (_, factor) = linear.terms[n];
                linear.terms[n] = (src, factor << self.width(k));
                changed = true;
            }
        }
        if changed {
            linear.normalise();
        }
        linear
    }

    /// Works like [`linear`](Self::linear), but decomposes only sums and negations, so it never
    /// recurses.
    fn linear_plain(&self, t: TermId) -> Linear {
        let width = self.width(t);
        let mut result = Linear::constant(width, 0);
        let mut work = vec![(t, 1u64)];
        while let Some((x, factor)) = work.pop() {
            if work.len() + result.terms.len() > MAX_ADDENDS {
                return Linear::atom(width, t);
            }
            match *self.node(x) {
                Node::Const(v) => {
                    result.constant = result.constant.wrapping_add(v.wrapping_mul(factor));
                }
                Node::Add(a, b) => work.extend([(a, factor), (b, factor)]),
                Node::Neg(a) => work.push((a, factor.wrapping_neg())),
                _ => result.push(x, factor),
            }
        }
        result.normalise();
        result
    }

    /// Returns `x * factor` in normal form.
    fn multiple(&mut self, x: TermId, factor: u64, width: u8) -> TermId {
        let negated = factor.wrapping_neg() & mask(width);
        if factor == 1 {
            x
        } else if negated == 1 {
            self.store_node(Node::Neg(x), width)
        } else if factor.is_power_of_two() {
            let by = self.constant(width, u64::from(factor.trailing_zeros()));
            self.shl(x, by)
        } else if negated.is_power_of_two() {
            let by = self.constant(width, u64::from(negated.trailing_zeros()));
            let shifted = self.shl(x, by);
            self.store_node(Node::Neg(shifted), width)
        } else {
            let factor = self.constant(width, factor);
            self.store_node(Node::Mul(x, factor), width)
        }
    }

    /// Returns the term that a linear combination represents: the sum of its multiples and its
    /// constant.
    pub(super) fn sum(&mut self, linear: &Linear) -> TermId {
        let width = linear.width;
        let all_ones = mask(width);
        if let [(x, factor)] = linear.terms[..]
            && factor == all_ones
            && linear.constant == all_ones
        {
            return self.not(x);
        }
        let mut addends: Vec<TermId> =
            linear.terms.iter().map(|&(x, factor)| self.multiple(x, factor, width)).collect();
        addends.sort_unstable();
        if linear.constant != 0 || addends.is_empty() {
            addends.push(self.constant(width, linear.constant));
        }
        if let [a, b] = addends[..]
            && self.is_assembly(a, b)
        {
            return self.or(a, b);
        }
        let last = addends.len() - 1;
        let mut total = addends[0];
        for (n, &addend) in addends.iter().enumerate().skip(1) {
            let node = Node::Add(total, addend);
            let mut domain = self.transfer(&node, width);
            if n == last
                && let Some((lo, hi)) = linear.range(self)
            {
                domain = domain.meet(&Domain::wrapping_range(width, lo, hi)).unwrap_or(domain);
            }
            total = self.store(node, domain);
        }
        total
    }

    /// Returns true if the sum of two concatenations or constants never carries, because at each
    /// bit position one of them is known to be zero.
    fn is_assembly(&self, a: TermId, b: TermId) -> bool {
        let disjoint = self.domain(a).zeros() | self.domain(b).zeros() == mask(self.width(a));
        let part = |t: TermId| matches!(self.node(t), Node::Const(_) | Node::Concat(..));
        disjoint && part(a) && part(b)
    }

    pub(super) fn simplify_add(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        if self.is_zero(b) {
            return Some(a);
        }
        if self.width(a) == 1 {
            return Some(self.xor(a, b));
        }
        let (x, y) = (self.linear(a), self.linear(b));
        let joined = if x.terms.len() + y.terms.len() > MAX_ADDENDS {
            let width = self.width(a);
            Linear::atom(width, a).plus(&Linear::atom(width, b), 1)
        } else {
            x.plus(&y, 1)
        };
        let joined = self.merge_shifted(joined);
        Some(self.sum(&joined))
    }

    pub(super) fn simplify_neg(&mut self, a: TermId) -> Option<TermId> {
        if self.width(a) == 1 {
            return Some(a);
        }
        self.scaled(a, u64::MAX)
    }

    /// Returns `a * factor`; the factor is distributed over the addends of `a`.
    pub(super) fn scaled(&mut self, a: TermId, factor: u64) -> Option<TermId> {
        let width = self.width(a);
        let zero = Linear::constant(width, 0);
        let scaled = zero.plus(&self.linear(a), factor & mask(width));
        Some(self.sum(&scaled))
    }
}
