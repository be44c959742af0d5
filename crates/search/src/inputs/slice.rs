//! What the branches of an unrolled program depend on: terms, and which of their bits.
//!
//! From the conditions backwards: an operator hands on which bits of its operands its own bits
//! depend on; a value that differs between paths depends on what arrives over each arc, and the
//! arcs on their conditions, which are looked at in any case. Nothing that is left out can change
//! the path. What is not understood is refused.

use crate::unroll::Unrolled;
use rustc_hash::FxHashMap as HashMap;
use slowpath_exec::Varying;
use slowpath_smt::{Domain, Node, TermId, TermPool};
use std::collections::BinaryHeap;

/// Terms that matter, and more than which no input is tried.
const MAX_TERMS: usize = 200_000;

/// The terms that conditions depend on.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// All of them, children before parents.
    pub terms: Vec<TermId>,
    /// Which of their bits matter: at least one.
    bits: HashMap<TermId, u64>,
}

impl Slice {
    /// What the conditions of all arcs depend on; `None` if that cannot be said, or is too much.
    pub fn of(unrolled: &Unrolled) -> Option<Slice> {
        let mut backwards =
            Backwards { unrolled, slice: Slice::default(), heap: BinaryHeap::new() };
        for node in &unrolled.dag.nodes {
            for &arc in &node.out {
                if let Some((condition, _)) = unrolled.dag[arc].condition {
                    backwards.need(condition, 1);
                }
            }
        }
        // Children have smaller ids than their parents, what arrives somewhere than the variable
        // that stands for it.
        while let Some(term) = backwards.heap.pop() {
            if backwards.slice.terms.len() >= MAX_TERMS {
                return None;
            }
            backwards.slice.terms.push(term);
            backwards.operands(term)?;
        }
        let mut slice = backwards.slice;
        slice.terms.reverse();
        Some(slice)
    }

    /// The bits of a term that matter.
    pub fn bits(&self, term: TermId) -> u64 {
        self.bits.get(&term).copied().unwrap_or(0)
    }

    /// The terms that a term in it is computed from, as far as they matter: its operands, or what
    /// arrives over any arc.
    pub fn sources(&self, unrolled: &Unrolled, term: TermId) -> Vec<TermId> {
        let executor = &unrolled.executor;
        let sources: Vec<TermId> = match executor.varying(term) {
            Some(Varying::Merged { incoming, .. }) => incoming.iter().map(|&(_, v)| v).collect(),
            _ => executor.pool.children(term).collect(),
        };
        sources.into_iter().filter(|&source| self.bits(source) != 0).collect()
    }
}

struct Backwards<'a> {
    unrolled: &'a Unrolled,
    slice: Slice,
    /// Terms that matter and have not been looked at, latest first.
    heap: BinaryHeap<TermId>,
}

impl Backwards<'_> {
    fn need(&mut self, term: TermId, bits: u64) {
        if bits == 0 || self.unrolled.executor.pool.as_const(term).is_some() {
            return;
        }
        let known = self.slice.bits.entry(term).or_insert(0);
        if *known == 0 {
            self.heap.push(term);
        }
        *known |= bits;
    }

    /// Notes what the bits of a term that matter depend on.
    fn operands(&mut self, term: TermId) -> Option<()> {
        let bits = self.slice.bits(term);
        if let Some(varying) = self.unrolled.executor.varying(term) {
            let Varying::Merged { incoming, .. } = varying else { return None };
            incoming.iter().for_each(|&(_, value)| self.need(value, bits));
            return Some(());
        }
        let pool = &self.unrolled.executor.pool;
        let all = |term: TermId| Domain::full(pool.width(term)).hi();
        match *pool.node(term) {
            Node::Const(_) | Node::Var(_) => {}
            // Which bytes of unknown content are read has to be known.
            Node::Select { array, index } => match pool.array_content(array) {
                Some(_) => self.need(index, all(index)),
                None => pool.as_const(index).map(|_| ())?,
            },
            Node::Intern(..) => return None,
            Node::Not(a) => self.need(a, bits),
            Node::Neg(a) => self.need(a, up_to_highest(bits)),
            Node::And(a, b) => {
                self.need(a, bits & constant(pool, b).unwrap_or(u64::MAX));
                self.need(b, bits & constant(pool, a).unwrap_or(u64::MAX));
            }
            Node::Or(a, b) => {
                self.need(a, bits & !constant(pool, b).unwrap_or(0));
                self.need(b, bits & !constant(pool, a).unwrap_or(0));
            }
            Node::Xor(a, b) => {
                self.need(a, bits);
                self.need(b, bits);
            }
            Node::Add(a, b) | Node::Mul(a, b) => {
                self.need(a, up_to_highest(bits));
                self.need(b, up_to_highest(bits));
            }
            Node::Shl(a, b) => {
                self.need(a, up_to_highest(bits));
                self.need(b, all(b));
            }
            Node::Concat(high, low) => {
                self.need(high, bits >> pool.width(low));
                self.need(low, bits & all(low));
            }
            Node::Extract { src, lo } => self.need(src, bits << lo),
            Node::Sext(a) => {
                let sign = (all(a) >> 1) + 1;
                let copies = if bits & !all(a) == 0 { 0 } else { sign };
                self.need(a, bits & all(a) | copies);
            }
            Node::Ite(condition, then, other) => {
                self.need(condition, 1);
                self.need(then, bits);
                self.need(other, bits);
            }
            Node::Udiv(a, b)
            | Node::Urem(a, b)
            | Node::Sdiv(a, b)
            | Node::Srem(a, b)
            | Node::Lshr(a, b)
            | Node::Ashr(a, b)
            | Node::Eq(a, b)
            | Node::Ult(a, b)
            | Node::Slt(a, b) => {
                self.need(a, all(a));
                self.need(b, all(b));
            }
        }
        Some(())
    }
}

fn constant(pool: &TermPool, term: TermId) -> Option<u64> {
    pool.as_const(term)
}

/// All bits from the lowest to the highest one that is set: what a carry comes from.
fn up_to_highest(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}
