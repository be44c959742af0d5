//! Translates terms into clauses. The translation shares no code with the solver of
//! `slowpath-smt`, and does not simplify terms.
//!
//! Each bit of a term is a literal; gates become clauses (Tseitin, "On the complexity of derivation
//! in propositional calculus", 1968). The bytes of unconstrained arrays are unknowns; bytes at
//! equal indices are equal (Ackermann). The order of clauses and variables depends only on the
//! terms, so a proof about the clauses stays valid when the program is translated again.

use slowpath_smt::{ArrayId, Domain, Node, TermId, TermPool, VarId};
use std::collections::HashMap;

/// Number of clauses beyond which a translation is given up.
const MAX_CLAUSES: usize = 4_000_000;

/// Literal that is always true.
const TRUE: i32 = 1;

/// The bits of a term as literals, least significant first.
type Bits = Vec<i32>;

/// Clauses, and the literals of the inputs in them.
pub struct Encoded {
    /// The clauses.
    pub clauses: Vec<Vec<i32>>,
    /// Bits of each unknown, least significant first.
    pub unknowns: Vec<(VarId, Vec<i32>)>,
    /// Bits of each byte of an unconstrained array that is read at a constant index.
    pub bytes: Vec<(ArrayId, u64, Vec<i32>)>,
}

/// Returns clauses that are satisfiable if some values of all unknowns make every condition 1.
/// Conditions are terms of 1 bit.
///
/// # Errors
/// Fails if the clauses become too many.
pub fn clauses(pool: &TermPool, conditions: &[TermId]) -> Result<Vec<Vec<i32>>, String> {
    Ok(encode(pool, conditions)?.clauses)
}

/// Returns the same clauses as [`clauses`], with the literals of inputs.
///
/// # Errors
/// Fails if the clauses become too many.
pub fn encode(pool: &TermPool, conditions: &[TermId]) -> Result<Encoded, String> {
    let mut encoder = Encoder {
        pool,
        clauses: vec![vec![TRUE]],
        variables: TRUE,
        bits: HashMap::new(),
        bytes: HashMap::new(),
        interned: Vec::new(),
        unknowns: Vec::new(),
    };
    for &condition in conditions {
        let bits = encoder.term(condition)?;
        encoder.clauses.push(bits);
    }
    let mut bytes = Vec::new();
    for (&array, read) in &encoder.bytes {
        let known = read.iter().filter_map(|(index, byte)| Some((value(index)?, byte)));
        bytes.extend(known.map(|(index, byte)| (array, index, byte.clone())));
    }
    bytes.sort_unstable();
    Ok(Encoded { clauses: encoder.clauses, unknowns: encoder.unknowns, bytes })
}

struct Encoder<'a> {
    pool: &'a TermPool,
    clauses: Vec<Vec<i32>>,
    /// Number of the last variable.
    variables: i32,
    bits: HashMap<TermId, Bits>,
    /// For each unconstrained array, the bytes that were read: bits of index and value.
    bytes: HashMap<ArrayId, Vec<(Bits, Bits)>>,
    /// Bits of the unknowns in the order of their translation.
    unknowns: Vec<(VarId, Bits)>,
    /// Interned pairs of values: bits of the pair, one value after the other, and of its number.
    interned: Vec<(Bits, Bits)>,
}

impl Encoder<'_> {
    /// Returns the bits of a term. Uses no recursion, because terms can be very deep.
    fn term(&mut self, root: TermId) -> Result<Bits, String> {
        let mut work = vec![root];
        while let Some(&term) = work.last() {
            if self.bits.contains_key(&term) {
                work.pop();
                continue;
            }
            let before = work.len();
            work.extend(self.pool.children(term).filter(|child| !self.bits.contains_key(child)));
            if work.len() == before {
                let bits = self.node(term);
                self.bits.insert(term, bits);
                work.pop();
            }
            if self.clauses.len() > MAX_CLAUSES {
                return Err(format!("more than {MAX_CLAUSES} clauses"));
            }
        }
        Ok(self.bits[&root].clone())
    }

    /// Returns the bits of a term whose operands have bits.
    fn node(&mut self, term: TermId) -> Bits {
        let width = usize::from(self.pool.width(term));
        let bits = |operand: TermId| self.bits[&operand].clone();
        match *self.pool.node(term) {
            Node::Const(value) => constant(value, width),
            Node::Var(var) => {
                let bits = self.unknown(self.pool.var_info(var).1);
                self.unknowns.push((var, bits.clone()));
                bits
            }
            Node::Select { array, index } => {
                let index = bits(index);
                self.select(array, index)
            }
            Node::Not(a) => bits(a).iter().map(|bit| -bit).collect(),
            Node::Neg(a) => {
                let inverted: Bits = bits(a).iter().map(|bit| -bit).collect();
                self.sum(&inverted, &constant(0, width), TRUE).0
            }
            Node::And(a, b) => self.each(&bits(a), &bits(b), Self::and),
            Node::Or(a, b) => self.each(&bits(a), &bits(b), Self::or),
            Node::Xor(a, b) => self.each(&bits(a), &bits(b), Self::xor),
            Node::Add(a, b) => self.sum(&bits(a), &bits(b), -TRUE).0,
            Node::Mul(a, b) => self.product(&bits(a), &bits(b)),
            Node::Udiv(a, b) => self.quotient(&bits(a), &bits(b)).0,
            Node::Urem(a, b) => self.quotient(&bits(a), &bits(b)).1,
            Node::Sdiv(a, b) => {
                let (a, b) = (bits(a), bits(b));
                let (size_a, size_b) = (self.absolute(&a), self.absolute(&b));
                let quotient = self.quotient(&size_a, &size_b).0;
                let negative = self.xor(a[width - 1], b[width - 1]);
                self.negated_if(negative, &quotient)
            }
            Node::Srem(a, b) => {
                let (a, b) = (bits(a), bits(b));
                let (size_a, size_b) = (self.absolute(&a), self.absolute(&b));
                let remainder = self.quotient(&size_a, &size_b).1;
                self.negated_if(a[width - 1], &remainder)
            }
            Node::Shl(a, b) => {
                let reversed: Bits = bits(a).into_iter().rev().collect();
                let mut shifted = self.right_shift(&reversed, &bits(b), -TRUE);
                shifted.reverse();
                shifted
            }
            Node::Lshr(a, b) => self.right_shift(&bits(a), &bits(b), -TRUE),
            Node::Ashr(a, b) => {
                let a = bits(a);
                self.right_shift(&a, &bits(b), a[width - 1])
            }
            Node::Eq(a, b) => vec![self.equal(&bits(a), &bits(b))],
            Node::Ult(a, b) => vec![self.less(&bits(a), &bits(b))],
            Node::Slt(a, b) => {
                // Inverted sign bits turn the signed order into the unsigned order.
                let (mut a, mut b) = (bits(a), bits(b));
                for bits in [&mut a, &mut b] {
                    if let Some(sign) = bits.last_mut() {
                        *sign = -*sign;
                    }
                }
                vec![self.less(&a, &b)]
            }
            Node::Concat(upper, lower) => [bits(lower), bits(upper)].concat(),
            Node::Extract { src, lo } => bits(src)[usize::from(lo)..][..width].to_vec(),
            Node::Intern(a, b) => {
                let pair = [bits(a), bits(b)].concat();
                self.intern(pair, width)
            }
            Node::Sext(a) => {
                let mut bits = bits(a);
                bits.resize(width, *bits.last().unwrap_or(&-TRUE));
                bits
            }
            Node::Ite(condition, then, other) => {
                let condition = bits(condition)[0];
                self.choice(condition, &bits(then), &bits(other))
            }
        }
    }

    fn variable(&mut self) -> i32 {
        self.variables += 1;
        self.variables
    }

    /// Returns new variables for a value in `domain`.
    fn unknown(&mut self, domain: Domain) -> Bits {
        let width = usize::from(domain.width());
        let bits: Bits = (0..width).map(|_| self.variable()).collect();
        for (at, &bit) in bits.iter().enumerate() {
            if domain.zeros() >> at & 1 == 1 {
                self.clauses.push(vec![-bit]);
            } else if domain.ones() >> at & 1 == 1 {
                self.clauses.push(vec![bit]);
            }
        }
        let below = self.less(&bits, &constant(domain.lo(), width));
        let above = self.less(&constant(domain.hi(), width), &bits);
        self.clauses.extend([vec![-below], vec![-above]]);
        bits
    }

    /// Returns the byte of an array at an index.
    fn select(&mut self, array: ArrayId, index: Bits) -> Bits {
        if let Some(content) = self.pool.array_content(array) {
            return self.table(content, &index);
        }
        let byte: Bits = (0..8).map(|_| self.variable()).collect();
        let others = self.bytes.remove(&array).unwrap_or_default();
        for (other_index, other) in &others {
            let same = self.equal(&index, other_index);
            if same != -TRUE {
                for (&a, &b) in byte.iter().zip(other) {
                    self.clauses.extend([vec![-same, -a, b], vec![-same, a, -b]]);
                }
            }
        }
        self.bytes.insert(array, others);
        self.bytes.entry(array).or_default().push((index, byte.clone()));
        byte
    }

    /// Returns the byte of a table at an index: a tree of choices, one level for each bit of the
    /// index. All bytes after the table are zero.
    fn table(&mut self, content: &[u8], index: &[i32]) -> Bits {
        let mut level: Vec<Bits> = content.iter().map(|&byte| constant(byte.into(), 8)).collect();
        for &bit in index {
            let zero = constant(0, 8);
            let pairs = level.chunks(2).map(|pair| (&pair[0], pair.get(1).unwrap_or(&zero)));
            level = pairs.map(|(even, odd)| self.choice(bit, odd, even)).collect();
        }
        level.into_iter().next().unwrap_or_else(|| constant(0, 8))
    }

    /// Returns the number of an interned pair: numbers are equal if and only if the pairs are.
    fn intern(&mut self, pair: Bits, width: usize) -> Bits {
        let number: Bits = (0..width).map(|_| self.variable()).collect();
        for (other, other_number) in std::mem::take(&mut self.interned) {
            let same_pair = self.equal(&pair, &other);
            let same_number = self.equal(&number, &other_number);
            self.clauses.extend([vec![-same_pair, same_number], vec![same_pair, -same_number]]);
            self.interned.push((other, other_number));
        }
        self.interned.push((pair, number.clone()));
        number
    }

    fn and(&mut self, a: i32, b: i32) -> i32 {
        match (a, b) {
            (TRUE, other) | (other, TRUE) => other,
            _ if a == b => a,
            _ if a == -TRUE || b == -TRUE || a == -b => -TRUE,
            _ => {
                let both = self.variable();
                self.clauses.extend([vec![-both, a], vec![-both, b], vec![both, -a, -b]]);
                both
            }
        }
    }

    fn or(&mut self, a: i32, b: i32) -> i32 {
        -self.and(-a, -b)
    }

    fn xor(&mut self, a: i32, b: i32) -> i32 {
        match (a, b) {
            (TRUE, other) | (other, TRUE) => -other,
            _ if a == -TRUE => b,
            _ if b == -TRUE => a,
            _ if a == b => -TRUE,
            _ if a == -b => TRUE,
            _ => {
                let one = self.variable();
                self.clauses.extend([
                    vec![-one, a, b],
                    vec![-one, -a, -b],
                    vec![one, -a, b],
                    vec![one, a, -b],
                ]);
                one
            }
        }
    }

    /// Returns a literal that equals `then` if `condition` holds, else `other`.
    fn mux(&mut self, condition: i32, then: i32, other: i32) -> i32 {
        match condition {
            TRUE => return then,
            _ if condition == -TRUE || then == other => return other,
            _ => {}
        }
        let taken = self.and(condition, then);
        let left = self.and(-condition, other);
        self.or(taken, left)
    }

    fn each(&mut self, a: &[i32], b: &[i32], gate: fn(&mut Self, i32, i32) -> i32) -> Bits {
        a.iter().zip(b).map(|(&a, &b)| gate(self, a, b)).collect()
    }

    fn choice(&mut self, condition: i32, then: &[i32], other: &[i32]) -> Bits {
        then.iter().zip(other).map(|(&then, &other)| self.mux(condition, then, other)).collect()
    }

    /// Returns the sum of two numbers and a carry, and the carry out of the last bit.
    fn sum(&mut self, a: &[i32], b: &[i32], mut carry: i32) -> (Bits, i32) {
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let half = self.xor(a, b);
            sum.push(self.xor(half, carry));
            let both = self.and(a, b);
            let passed = self.and(half, carry);
            carry = self.or(both, passed);
        }
        (sum, carry)
    }

    fn product(&mut self, a: &[i32], b: &[i32]) -> Bits {
        let width = a.len();
        let mut product = constant(0, width);
        for (at, &factor) in b.iter().enumerate().filter(|(_, factor)| **factor != -TRUE) {
            let mut part = vec![-TRUE; at];
            for &bit in &a[..width - at] {
                part.push(self.and(bit, factor));
            }
            product = self.sum(&product, &part, -TRUE).0;
        }
        product
    }

    /// Returns quotient and remainder, by long division. A divisor of zero yields all ones and the
    /// dividend, as in SMT-LIB.
    fn quotient(&mut self, a: &[i32], b: &[i32]) -> (Bits, Bits) {
        let width = a.len();
        // One more bit, because the remainder is doubled before the comparison.
        let divisor: Bits = [b, &[-TRUE]].concat();
        let inverted: Bits = divisor.iter().map(|bit| -bit).collect();
        let mut remainder = constant(0, width + 1);
        let mut quotient = constant(0, width);
        for at in (0..width).rev() {
            remainder.pop();
            remainder.insert(0, a[at]);
            let (difference, fits) = self.sum(&remainder, &inverted, TRUE);
            quotient[at] = fits;
            remainder = self.choice(fits, &difference, &remainder);
        }
        remainder.truncate(width);
        (quotient, remainder)
    }

    fn negated_if(&mut self, condition: i32, value: &[i32]) -> Bits {
        let inverted: Bits = value.iter().map(|&bit| self.xor(bit, condition)).collect();
        self.sum(&inverted, &constant(0, value.len()), condition).0
    }

    /// Returns the absolute value of a signed number, as an unsigned number.
    fn absolute(&mut self, value: &[i32]) -> Bits {
        let sign = value.last().copied().unwrap_or(-TRUE);
        self.negated_if(sign, value)
    }

    /// Shifts a value towards its least significant bit. `fill` is the bit that moves in.
    fn right_shift(&mut self, value: &[i32], amount: &[i32], fill: i32) -> Bits {
        let width = value.len();
        let (mut shifted, mut beyond) = (value.to_vec(), -TRUE);
        for (at, &bit) in amount.iter().enumerate() {
            let distance = 1usize.checked_shl(at as u32).unwrap_or(usize::MAX);
            if distance >= width {
                beyond = self.or(beyond, bit);
                continue;
            }
            let moved: Bits =
                (0..width).map(|to| *shifted.get(to + distance).unwrap_or(&fill)).collect();
            shifted = self.choice(bit, &moved, &shifted);
        }
        self.choice(beyond, &vec![fill; width], &shifted)
    }

    fn equal(&mut self, a: &[i32], b: &[i32]) -> i32 {
        let mut equal = TRUE;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            equal = self.and(equal, -differ);
        }
        equal
    }

    /// Returns a literal that holds if `a < b` as unsigned numbers.
    fn less(&mut self, a: &[i32], b: &[i32]) -> i32 {
        let mut less = -TRUE;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            less = self.mux(differ, b, less);
        }
        less
    }
}

fn constant(value: u64, width: usize) -> Bits {
    let bit = |at: usize| value.checked_shr(at as u32).unwrap_or(0) & 1 == 1;
    (0..width).map(|at| if bit(at) { TRUE } else { -TRUE }).collect()
}

/// Returns the value of bits that are all constant.
fn value(bits: &[i32]) -> Option<u64> {
    let is_constant = bits.iter().all(|&bit| bit == TRUE || bit == -TRUE);
    is_constant.then(|| bits.iter().rev().fold(0, |all, &bit| all << 1 | u64::from(bit == TRUE)))
}

#[cfg(test)]
mod tests;
