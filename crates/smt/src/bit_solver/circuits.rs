//! Builds Boolean circuits for the operators on bit-vectors. Bits are ordered from the lowest to
//! the highest. [`Node`](crate::Node) defines widths and semantics.

use super::gates::Gates;
use crate::sat::Lit;

impl Gates {
    pub(super) fn number(&self, width: usize, value: u64) -> Vec<Lit> {
        (0..width).map(|bit| self.constant(value >> bit & 1 == 1)).collect()
    }

    /// Returns the number that the bits represent, or `None` unless all of them are constant.
    pub(super) fn as_number(&self, bits: &[Lit]) -> Option<u64> {
        let mut number = 0;
        for (place, &bit) in bits.iter().enumerate() {
            number |= u64::from(self.as_constant(bit)?) << place;
        }
        Some(number)
    }

    /// Returns the sum of both operands and the carry in, modulo 2^width, and the carry out as a
    /// literal.
    pub(super) fn add(&mut self, a: &[Lit], b: &[Lit], carry: Lit) -> (Vec<Lit>, Lit) {
        let mut carry = carry;
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            sum.push(self.parity(a, b, carry));
            carry = self.majority(a, b, carry);
        }
        (sum, carry)
    }

    /// Returns the difference modulo 2^width, and a literal that is true if `a >= b` (unsigned).
    pub(super) fn subtract(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Lit) {
        let (b, yes) = (not(b), self.constant(true));
        self.add(a, &b, yes)
    }

    pub(super) fn negate(&mut self, a: &[Lit]) -> Vec<Lit> {
        let zero = self.number(a.len(), 0);
        self.subtract(&zero, a).0
    }

    /// Returns a literal that is true if `a < b`, unsigned.
    pub(super) fn below(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut below = self.constant(false);
        for (&a, &b) in a.iter().zip(b) {
            below = self.majority(!a, b, below);
        }
        below
    }

    /// Returns a literal that is true if `a < b`, signed.
    pub(super) fn below_signed(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        // With inverted sign bits, the signed order equals the unsigned order.
        let flip = |bits: &[Lit]| -> Vec<Lit> {
            let last = bits.len().wrapping_sub(1);
            bits.iter().enumerate().map(|(n, &bit)| if n == last { !bit } else { bit }).collect()
        };
        self.below(&flip(a), &flip(b))
    }

    pub(super) fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let same: Vec<Lit> = a.iter().zip(b).map(|(&a, &b)| !self.xor(a, b)).collect();
        self.all(&same)
    }

    pub(super) fn choose(&mut self, c: Lit, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        a.iter().zip(b).map(|(&a, &b)| self.mux(c, a, b)).collect()
    }

    pub(super) fn each(
        &mut self,
        a: &[Lit],
        b: &[Lit],
        gate: impl Fn(&mut Self, Lit, Lit) -> Lit,
    ) -> Vec<Lit> {
        a.iter().zip(b).map(|(&a, &b)| gate(self, a, b)).collect()
    }

    /// Returns the product of two numbers modulo 2^width.
    pub(super) fn multiply(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let constants = |gates: &Self, bits: &[Lit]| {
            bits.iter().filter(|&&b| gates.as_constant(b).is_some()).count()
        };
        // Each bit of `b` that is not constant needs a row of adders, so `b` gets more constant
        // bits.
        let (a, b) = if constants(self, a) > constants(self, b) { (b, a) } else { (a, b) };
        if let Some(factor) = self.as_number(b) {
            return self.multiply_by(a, factor);
        }
        let mut sum = self.number(a.len(), 0);
        for (shift, &bit) in b.iter().enumerate() {
            let row: Vec<Lit> = a[..a.len() - shift].iter().map(|&x| self.and(x, bit)).collect();
            let no = self.constant(false);
            let high = self.add(&sum[shift..], &row, no).0;
            sum.splice(shift.., high);
        }
        sum
    }

    /// Returns the product of `a` and a constant. The constant is written with the digits -1, 0 and
    /// 1 and as few non-zero digits as possible. For each non-zero digit, one shifted copy of `a`
    /// is added or subtracted.
    fn multiply_by(&mut self, a: &[Lit], factor: u64) -> Vec<Lit> {
        // Non-adjacent form of n: digit i is non-zero if n and 3n differ in bit i + 1. The digit is
        // 1 if this bit of 3n is set, else -1.
        let wide = u128::from(factor);
        let (digits, positive) = ((wide ^ (3 * wide)) >> 1, (3 * wide) >> 1);
        let mut sum = self.number(a.len(), 0);
        for shift in 0..a.len() {
            if digits >> shift & 1 == 0 {
                continue;
            }
            let row = &a[..a.len() - shift];
            let no = self.constant(false);
            let high = if positive >> shift & 1 == 1 {
                self.add(&sum[shift..], row, no).0
            } else {
                self.subtract(&sum[shift..], row).0
            };
            sum.splice(shift.., high);
        }
        sum
    }

    /// Returns quotient and remainder of an unsigned division, computed as in long division. If the
    /// divisor is zero, the quotient has all bits set and the remainder is the dividend, as SMT-LIB
    /// requires.
    pub(super) fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let no = self.constant(false);
        let mut divisor = b.to_vec();
        divisor.push(no);
        let mut quotient = Vec::with_capacity(a.len());
        let mut rest = self.number(b.len(), 0);
        for &bit in a.iter().rev() {
            rest.insert(0, bit);
            let (difference, fits) = self.subtract(&rest, &divisor);
            rest = self.choose(fits, &difference, &rest);
            rest.pop();
            quotient.push(fits);
        }
        quotient.reverse();
        (quotient, rest)
    }

    /// Returns quotient and remainder of a signed division; the quotient is rounded towards zero.
    pub(super) fn divide_signed(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let no = self.constant(false);
        let (below_a, below_b) = (a.last().copied().unwrap_or(no), b.last().copied().unwrap_or(no));
        let (size_a, size_b) = (self.negate_if(below_a, a), self.negate_if(below_b, b));
        let (quotient, rest) = self.divide(&size_a, &size_b);
        let opposite = self.xor(below_a, below_b);
        (self.negate_if(opposite, &quotient), self.negate_if(below_a, &rest))
    }

    fn negate_if(&mut self, condition: Lit, a: &[Lit]) -> Vec<Lit> {
        let negated = self.negate(a);
        self.choose(condition, &negated, a)
    }

    /// Shifts `a` right and fills the highest bits with `fill`. If the bits of `a` are in reverse
    /// order, this is a left shift.
    fn shift_down(&mut self, a: &[Lit], amount: &[Lit], fill: Lit) -> Vec<Lit> {
        let mut bits = a.to_vec();
        // Number of low bits of the amount that suffice for shifts by less than the width.
        let near = (usize::BITS - a.len().saturating_sub(1).leading_zeros()) as usize;
        let (near, far) = amount.split_at(near.min(amount.len()));
        for (place, &by) in near.iter().enumerate() {
            let distance = 1 << place;
            let moved: Vec<Lit> =
                (0..bits.len()).map(|n| bits.get(n + distance).copied().unwrap_or(fill)).collect();
            bits = self.choose(by, &moved, &bits);
        }
        let beyond = self.any(far);
        let filled = vec![fill; bits.len()];
        self.choose(beyond, &filled, &bits)
    }

    pub(super) fn shift_right(&mut self, a: &[Lit], amount: &[Lit], fill: Lit) -> Vec<Lit> {
        self.shift_down(a, amount, fill)
    }

    pub(super) fn shift_left(&mut self, a: &[Lit], amount: &[Lit]) -> Vec<Lit> {
        let (no, reversed) = (self.constant(false), a.iter().rev().copied().collect::<Vec<_>>());
        let mut bits = self.shift_down(&reversed, amount, no);
        bits.reverse();
        bits
    }
}

pub(super) fn not(bits: &[Lit]) -> Vec<Lit> {
    bits.iter().map(|&bit| !bit).collect()
}
