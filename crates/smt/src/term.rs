//! Identifiers of terms, and the operators of which terms consist. Widths and domains of terms are
//! stored in the pool.

/// A term, as its index in the [`TermPool`](crate::TermPool) that created it. Equal ids mean equal
/// terms. Ids are in order of creation, so operands have smaller ids than the terms that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub(crate) u32);

/// An unknown (free variable) with a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub(crate) u32);

/// An array of bytes, either unconstrained or with known content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrayId(pub(crate) u32);

impl TermId {
    /// Returns the index of the term in its pool; indices are consecutive from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl VarId {
    /// Returns the index of the unknown in its pool; the indices of unknowns are consecutive from
    /// zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ArrayId {
    /// Returns the index of the array in its pool; the indices of arrays are consecutive from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operator and its operands. The pool keeps normal forms. If normalisation takes too many
/// steps, the pool stores the plain operator instead. So code may match on these forms for
/// precision, but its soundness must not depend on them:
///
/// - a term known to have only one value is a `Const`, and operators on constants are folded;
/// - commutative operators have the constant on the right, other operands in order of their ids;
/// - subtraction is addition of `Neg` (or of `Mul` by a constant); sums are left-nested with the
///   constant outermost on the right (see [`TermPool::split_sum`](crate::TermPool::split_sum));
/// - zero extension and shifts by constants are `Concat`s with constant parts; `Concat` is
///   right-nested, adjacent constants and adjacent extracts of one term are merged;
/// - `a <= b` is `Not(Ult(b, a))`; comparisons of single bits are bitwise operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A constant; bits above the width are zero.
    Const(u64),
    /// An unknown.
    Var(VarId),
    /// A byte (8 bits) of an array.
    Select {
        /// Array to read from.
        array: ArrayId,
        /// Index of the byte in the array. The term is as wide as the array's indices.
        index: TermId,
    },
    /// Bitwise complement.
    Not(TermId),
    /// Two's complement.
    Neg(TermId),
    /// Bitwise and.
    And(TermId, TermId),
    /// Bitwise or.
    Or(TermId, TermId),
    /// Bitwise exclusive or.
    Xor(TermId, TermId),
    /// Sum modulo 2^width.
    Add(TermId, TermId),
    /// Product modulo 2^width.
    Mul(TermId, TermId),
    /// Unsigned quotient; all bits set if the divisor is zero.
    Udiv(TermId, TermId),
    /// Unsigned remainder; the dividend if the divisor is zero.
    Urem(TermId, TermId),
    /// Signed quotient, rounded towards zero.
    Sdiv(TermId, TermId),
    /// Signed remainder, with the sign of the dividend.
    Srem(TermId, TermId),
    /// Left shift; zero if the amount is at least the width.
    Shl(TermId, TermId),
    /// Logical right shift; zero if the amount is at least the width.
    Lshr(TermId, TermId),
    /// Arithmetic right shift; all bits are the sign bit if the amount is at least the width.
    Ashr(TermId, TermId),
    /// Equality, as 1 bit.
    Eq(TermId, TermId),
    /// Unsigned less-than, as 1 bit.
    Ult(TermId, TermId),
    /// Signed less-than, as 1 bit.
    Slt(TermId, TermId),
    /// Concatenation with the first operand as the upper bits; at most 64 bits in total.
    Concat(TermId, TermId),
    /// Bits of `src` from bit `lo` upwards; the width of this term is their number.
    Extract {
        /// The term that bits are taken from.
        src: TermId,
        /// Position of the lowest bit of `src` that is taken.
        lo: u8,
    },
    /// The unique 32-bit number of a pair of 64-bit values (interning). Two numbers are equal if
    /// and only if the pairs are equal; they are otherwise arbitrary.
    Intern(TermId, TermId),
    /// Sign extension to the width of this term.
    Sext(TermId),
    /// The second operand if the first operand (1 bit) is set, else the third.
    Ite(TermId, TermId, TermId),
}

impl Node {
    #[inline]
    pub(crate) fn operands(&self) -> [Option<TermId>; 3] {
        match *self {
            Node::Const(_) | Node::Var(_) => [None, None, None],
            Node::Select { index: a, .. }
            | Node::Not(a)
            | Node::Neg(a)
            | Node::Extract { src: a, .. }
            | Node::Sext(a) => [Some(a), None, None],
            Node::And(a, b)
            | Node::Or(a, b)
            | Node::Xor(a, b)
            | Node::Add(a, b)
            | Node::Mul(a, b)
            | Node::Udiv(a, b)
            | Node::Urem(a, b)
            | Node::Sdiv(a, b)
            | Node::Srem(a, b)
            | Node::Shl(a, b)
            | Node::Lshr(a, b)
            | Node::Ashr(a, b)
            | Node::Eq(a, b)
            | Node::Ult(a, b)
            | Node::Slt(a, b)
            | Node::Concat(a, b)
            | Node::Intern(a, b) => [Some(a), Some(b), None],
            Node::Ite(c, t, e) => [Some(c), Some(t), Some(e)],
        }
    }
}
