//! Simplification on construction. The constructors of all operators are here. A constructor orders
//! operands, folds constants, and applies the rules of its operator family (one submodule each) to
//! reach a normal form.
//!
//! Rules call constructors in turn. Two limits keep each construction at near constant time:
//! nesting of at most [`MAX_DEPTH`], and at most [`FUEL`] constructor calls within an outermost
//! call. Beyond a limit the plain node is stored, which is always correct. Results are cached.
//! Rules recurse only through constructors.

mod bitwise;
mod boolean;
mod divide;
mod equal;
mod ite;
mod order;
mod product;
mod shift;
mod slices;
pub(crate) mod sum;

#[cfg(test)]
mod tests;

use crate::domain::Domain;
use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Maximum nesting of constructors.
const MAX_DEPTH: u32 = 32;
/// Maximum number of constructor calls within one outermost call.
const FUEL: u32 = 600;

impl TermPool {
    /// Returns the simplified term for `node` of `width` bits.
    fn build(&mut self, node: Node, width: u8) -> TermId {
        if let Some(value) = self.fold(&node, width) {
            return self.constant(width, value);
        }
        if let Some(known) = self.cached_simplification(&node, width) {
            return known;
        }
        if self.depth == 0 {
            self.fuel = FUEL;
        }
        if self.depth >= MAX_DEPTH || self.fuel == 0 {
            return self.store_node(node, width);
        }
        self.fuel -= 1;
        self.depth += 1;
        let term = self.simplify(node, width);
        self.depth -= 1;
        // With fresh fuel the result may be simpler, so results that ran out of fuel are not
        // cached.
        if self.fuel > 0 {
            self.cache_simplification(node, width, term);
        }
        term
    }

    fn simplify(&mut self, node: Node, width: u8) -> TermId {
        if let Some(value) = self.transfer(&node, width).as_constant() {
            return self.constant(width, value);
        }
        let simpler = match node {
            Node::Not(a) => self.simplify_not(a),
            Node::Neg(a) => self.simplify_neg(a),
            Node::And(a, b) => self.simplify_and(a, b),
            Node::Or(a, b) => self.simplify_or(a, b),
            Node::Xor(a, b) => self.simplify_xor(a, b),
            Node::Add(a, b) => self.simplify_add(a, b),
            Node::Mul(a, b) => self.simplify_mul(a, b),
            Node::Udiv(a, b) => self.simplify_udiv(a, b),
            Node::Urem(a, b) => self.simplify_urem(a, b),
            Node::Sdiv(a, b) => self.simplify_sdiv(a, b),
            Node::Srem(a, b) => self.simplify_srem(a, b),
            Node::Shl(a, b) => self.simplify_shl(a, b),
            Node::Lshr(a, b) => self.simplify_lshr(a, b),
            Node::Ashr(a, b) => self.simplify_ashr(a, b),
            Node::Eq(a, b) => self.simplify_eq(a, b),
            Node::Ult(a, b) => self.simplify_ult(a, b),
            Node::Slt(a, b) => self.simplify_slt(a, b),
            Node::Concat(a, b) => self.simplify_concat(a, b),
            Node::Extract { src, lo } => self.simplify_extract(src, lo, width),
            Node::Sext(a) => self.simplify_sext(a, width),
            Node::Ite(c, t, e) => self.simplify_ite(c, t, e),
            Node::Const(_) | Node::Var(_) | Node::Select { .. } | Node::Intern(..) => None,
        };
        match simpler {
            Some(term) => term,
            None => self.store_node(node, width),
        }
    }

    /// Orders operands of a commutative operator: constants last, other operands by age.
    fn ordered(&self, a: TermId, b: TermId) -> (TermId, TermId) {
        debug_assert_eq!(self.width(a), self.width(b), "operand widths");
        match (self.as_const(a).is_some(), self.as_const(b).is_some()) {
            (true, false) => (b, a),
            (false, true) => (a, b),
            _ => (a.min(b), a.max(b)),
        }
    }

    /// Returns true if `a` is the constant zero.
    fn is_zero(&self, a: TermId) -> bool {
        self.as_const(a) == Some(0)
    }

    /// Returns true if `a` is the constant with all bits set.
    fn is_ones(&self, a: TermId) -> bool {
        self.as_const(a) == Some(crate::domain::mask(self.width(a)))
    }

    /// Returns true if one term is stored as the complement of the other.
    fn complementary(&self, a: TermId, b: TermId) -> bool {
        *self.node(a) == Node::Not(b) || *self.node(b) == Node::Not(a)
    }

    /// Bitwise complement.
    pub fn not(&mut self, a: TermId) -> TermId {
        self.build(Node::Not(a), self.width(a))
    }

    /// Two's complement.
    pub fn neg(&mut self, a: TermId) -> TermId {
        self.build(Node::Neg(a), self.width(a))
    }

    /// Bitwise and; equal widths.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::And(a, b), self.width(a))
    }

    /// Bitwise or; equal widths.
    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Or(a, b), self.width(a))
    }

    /// Bitwise exclusive or; equal widths.
    pub fn xor(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Xor(a, b), self.width(a))
    }

    /// Sum modulo 2^width; equal widths.
    pub fn add(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Add(a, b), self.width(a))
    }

    /// Difference modulo 2^width; equal widths.
    pub fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        let negated = self.neg(b);
        self.add(a, negated)
    }

    /// Product modulo 2^width; equal widths.
    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Mul(a, b), self.width(a))
    }

    /// Unsigned quotient, all ones when `b` is zero; equal widths.
    pub fn udiv(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Udiv(a, b), self.width(a))
    }

    /// Unsigned remainder, `a` when `b` is zero; equal widths.
    pub fn urem(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Urem(a, b), self.width(a))
    }

    /// Signed quotient rounded towards zero; by zero it is 1 for a negative `a`, else -1.
    pub fn sdiv(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Sdiv(a, b), self.width(a))
    }

    /// Signed remainder with the sign of `a`, `a` when `b` is zero; equal widths.
    pub fn srem(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Srem(a, b), self.width(a))
    }

    /// Left shift, zero when `b` is the width or more; equal widths.
    pub fn shl(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Shl(a, b), self.width(a))
    }

    /// Logical right shift, zero when `b` is the width or more; equal widths.
    pub fn lshr(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Lshr(a, b), self.width(a))
    }

    /// Arithmetic right shift, copies of the sign when `b` is the width or more; equal widths.
    pub fn ashr(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Ashr(a, b), self.width(a))
    }

    /// 1 bit: `a == b`; equal widths.
    pub fn eq(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Eq(a, b), 1)
    }

    /// 1 bit: `a < b`, unsigned; equal widths.
    pub fn ult(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Ult(a, b), 1)
    }

    /// 1 bit: `a <= b`, unsigned; equal widths.
    pub fn ule(&mut self, a: TermId, b: TermId) -> TermId {
        let greater = self.ult(b, a);
        self.not(greater)
    }

    /// 1 bit: `a < b`, signed; equal widths.
    pub fn slt(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Slt(a, b), 1)
    }

    /// 1 bit: `a <= b`, signed; equal widths.
    pub fn sle(&mut self, a: TermId, b: TermId) -> TermId {
        let greater = self.slt(b, a);
        self.not(greater)
    }

    /// Concatenation with `hi` as the upper bits; at most 64 bits in total.
    pub fn concat(&mut self, hi: TermId, lo: TermId) -> TermId {
        let width = self.width(hi) + self.width(lo);
        debug_assert!(width <= 64, "concat of {width} bits");
        self.build(Node::Concat(hi, lo), width)
    }

    /// The unique number (32 bits) of a pair of values (64 bits each). Numbers are equal exactly if
    /// the pairs are.
    pub fn intern(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!((self.width(a), self.width(b)), (64, 64));
        self.store(Node::Intern(a, b), Domain::full(32))
    }

    /// `width` bits of `t` from bit `lo` upwards; `lo + width` is at most the width of `t`.
    pub fn extract(&mut self, t: TermId, lo: u8, width: u8) -> TermId {
        debug_assert!(width >= 1 && lo + width <= self.width(t), "extract {lo}+{width}");
        if width == self.width(t) {
            return t;
        }
        self.build(Node::Extract { src: t, lo }, width)
    }

    /// Zero extension to `width` bits, at least the width of `t`.
    pub fn zext(&mut self, t: TermId, width: u8) -> TermId {
        let own = self.width(t);
        debug_assert!(width >= own, "zext from {own} to {width}");
        if width == own {
            return t;
        }
        let zeros = self.constant(width - own, 0);
        self.concat(zeros, t)
    }

    /// Sign extension to `width` bits, at least the width of `t`.
    pub fn sext(&mut self, t: TermId, width: u8) -> TermId {
        debug_assert!(width >= self.width(t));
        if width == self.width(t) {
            return t;
        }
        self.build(Node::Sext(t), width)
    }

    /// `t` if the bit `c` is set, else `e`; `t` and `e` have equal widths.
    pub fn ite(&mut self, c: TermId, t: TermId, e: TermId) -> TermId {
        debug_assert_eq!(self.width(c), 1);
        debug_assert_eq!(self.width(t), self.width(e));
        self.build(Node::Ite(c, t, e), self.width(t))
    }
}
