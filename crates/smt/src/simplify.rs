//! Simplifies terms when they are constructed. This file has the constructors of all operators. A
//! constructor orders operands, folds constants, and applies the rules of its operator family to
//! reach a normal form. Each family has a submodule.
//!
//! Rules call constructors in turn. Two limits keep the time of a construction nearly constant: a
//! maximum nesting depth ([`MAX_DEPTH`]) and a maximum number of constructor calls within an
//! outermost call ([`FUEL`]). Beyond a limit, the node is stored as it is, which is always correct.
//! Results are cached. Rules recurse only through constructors.

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

/// Maximum nesting of calls of constructors.
const MAX_DEPTH: u32 = 32;
/// Maximum number of further constructor calls that one call from outside the constructors may
/// cause.
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
        // A later call with new fuel may simplify further, so results that ran out of fuel are not
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

    /// Orders the operands of a commutative operator: a constant comes last, other operands are in
    /// order of their ids.
    fn ordered(&self, a: TermId, b: TermId) -> (TermId, TermId) {
        debug_assert_eq!(self.width(a), self.width(b), "operand widths");
        match (self.as_const(a).is_some(), self.as_const(b).is_some()) {
            (true, false) => (b, a),
            (false, true) => (a, b),
            _ => (a.min(b), a.max(b)),
        }
    }

    fn is_zero(&self, a: TermId) -> bool {
        self.as_const(a) == Some(0)
    }

    fn is_ones(&self, a: TermId) -> bool {
        self.as_const(a) == Some(crate::domain::mask(self.width(a)))
    }

    fn complementary(&self, a: TermId, b: TermId) -> bool {
        *self.node(a) == Node::Not(b) || *self.node(b) == Node::Not(a)
    }

    /// Returns the bitwise complement of `a`.
    pub fn not(&mut self, a: TermId) -> TermId {
        self.build(Node::Not(a), self.width(a))
    }

    /// Returns the negative of `a` (two's complement).
    pub fn neg(&mut self, a: TermId) -> TermId {
        self.build(Node::Neg(a), self.width(a))
    }

    /// Returns the bitwise and. `a` and `b` have the same width.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::And(a, b), self.width(a))
    }

    /// Returns the bitwise or. `a` and `b` have the same width.
    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Or(a, b), self.width(a))
    }

    /// Returns the bitwise exclusive or. `a` and `b` have the same width.
    pub fn xor(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Xor(a, b), self.width(a))
    }

    /// Returns the sum modulo 2^width. `a` and `b` have the same width.
    pub fn add(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Add(a, b), self.width(a))
    }

    /// Returns the difference modulo 2^width. `a` and `b` have the same width.
    pub fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        let negated = self.neg(b);
        self.add(a, negated)
    }

    /// Returns the product modulo 2^width. `a` and `b` have the same width.
    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Mul(a, b), self.width(a))
    }

    /// Returns the unsigned quotient, or all bits set if `b` is zero. `a` and `b` have the same
    /// width.
    pub fn udiv(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Udiv(a, b), self.width(a))
    }

    /// Returns the unsigned remainder, or `a` if `b` is zero. `a` and `b` have the same width.
    pub fn urem(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Urem(a, b), self.width(a))
    }

    /// Returns the signed quotient, rounded towards zero. If `b` is zero, the result is 1 for a
    /// negative `a`, else -1. `a` and `b` have the same width.
    pub fn sdiv(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Sdiv(a, b), self.width(a))
    }

    /// Returns the signed remainder, with the sign of `a`, or `a` if `b` is zero. `a` and `b` have
    /// the same width.
    pub fn srem(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Srem(a, b), self.width(a))
    }

    /// Returns `a` shifted left by `b`, or zero if `b` is at least the width. `a` and `b` have the
    /// same width.
    pub fn shl(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Shl(a, b), self.width(a))
    }

    /// Returns `a` shifted right by `b`, filled with zeros, or zero if `b` is at least the width.
    /// `a` and `b` have the same width.
    pub fn lshr(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Lshr(a, b), self.width(a))
    }

    /// Returns `a` shifted right by `b`, filled with the sign bit. If `b` is at least the width,
    /// all bits are the sign bit. `a` and `b` have the same width.
    pub fn ashr(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Ashr(a, b), self.width(a))
    }

    /// Returns the 1-bit term `a == b`. `a` and `b` have the same width.
    pub fn eq(&mut self, a: TermId, b: TermId) -> TermId {
        let (a, b) = self.ordered(a, b);
        self.build(Node::Eq(a, b), 1)
    }

    /// Returns the 1-bit term `a < b`, unsigned. `a` and `b` have the same width.
    pub fn ult(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Ult(a, b), 1)
    }

    /// Returns the 1-bit term `a <= b`, unsigned. `a` and `b` have the same width.
    pub fn ule(&mut self, a: TermId, b: TermId) -> TermId {
        let greater = self.ult(b, a);
        self.not(greater)
    }

    /// Returns the 1-bit term `a < b`, signed. `a` and `b` have the same width.
    pub fn slt(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!(self.width(a), self.width(b));
        self.build(Node::Slt(a, b), 1)
    }

    /// Returns the 1-bit term `a <= b`, signed. `a` and `b` have the same width.
    pub fn sle(&mut self, a: TermId, b: TermId) -> TermId {
        let greater = self.slt(b, a);
        self.not(greater)
    }

    /// Returns the concatenation of two terms, with `hi` as the upper bits. Together they have at
    /// most 64 bits.
    pub fn concat(&mut self, hi: TermId, lo: TermId) -> TermId {
        let width = self.width(hi) + self.width(lo);
        debug_assert!(width <= 64, "concat of {width} bits");
        self.build(Node::Concat(hi, lo), width)
    }

    /// Returns a 32-bit term for the unique number that identifies the pair of the 64-bit values
    /// `a` and `b` (interning). Equal pairs have equal numbers, different pairs different ones. The
    /// numbers are otherwise arbitrary.
    pub fn intern(&mut self, a: TermId, b: TermId) -> TermId {
        debug_assert_eq!((self.width(a), self.width(b)), (64, 64));
        self.store(Node::Intern(a, b), Domain::full(32))
    }

    /// Returns `width` bits of `t`, from bit `lo` upwards; `lo + width` is at most the width of
    /// `t`.
    pub fn extract(&mut self, t: TermId, lo: u8, width: u8) -> TermId {
        debug_assert!(width >= 1 && lo + width <= self.width(t), "extract {lo}+{width}");
        if width == self.width(t) {
            return t;
        }
        self.build(Node::Extract { src: t, lo }, width)
    }

    /// Returns `t`, zero-extended to `width` bits; `width` is at least the width of `t`.
    pub fn zext(&mut self, t: TermId, width: u8) -> TermId {
        let own = self.width(t);
        debug_assert!(width >= own, "zext from {own} to {width}");
        if width == own {
            return t;
        }
        let zeros = self.constant(width - own, 0);
        self.concat(zeros, t)
    }

    /// Returns `t`, sign-extended to `width` bits; `width` is at least the width of `t`.
    pub fn sext(&mut self, t: TermId, width: u8) -> TermId {
        debug_assert!(width >= self.width(t));
        if width == self.width(t) {
            return t;
        }
        self.build(Node::Sext(t), width)
    }

    /// Returns `t` if the bit `c` is set, otherwise `e`; `t` and `e` have equal widths.
    pub fn ite(&mut self, c: TermId, t: TermId, e: TermId) -> TermId {
        debug_assert_eq!(self.width(c), 1);
        debug_assert_eq!(self.width(t), self.width(e));
        self.build(Node::Ite(c, t, e), self.width(t))
    }
}
