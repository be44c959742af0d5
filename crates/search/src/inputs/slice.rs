//! Determines the terms, and the bits of each term, that the branch conditions of an unrolled
//! program depend on (a backward slice).
//!
//! The analysis starts at the conditions and continues with the operands of each operator. It
//! determines the bits of the operands that the operator's relevant bits depend on. A merged
//! variable depends on its value for each arc; the conditions of these arcs are already in the
//! slice. Bits outside the slice cannot change the path. The analysis fails if it meets a term that
//! it does not support.

use crate::unroll::Unrolled;
use rustc_hash::FxHashMap as HashMap;
use slowpath_exec::Varying;
use slowpath_smt::{Domain, Node, TermId, TermPool};
use std::collections::BinaryHeap;

/// Maximum number of terms that branch conditions may depend on. If there are more, the program is
/// not run on all combinations of inputs.
const MAX_TERMS: usize = 200_000;

/// The terms that the branch conditions depend on, with the relevant bits of each term.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// Terms that branch conditions depend on; operands precede the terms that use them.
    pub terms: Vec<TermId>,
    /// Mask of the bits of each term that branch conditions depend on; never zero.
    bits: HashMap<TermId, u64>,
}

impl Slice {
    /// Returns the slice for the branch conditions of all arcs. Returns `None` if it contains
    /// unsupported terms or is too large.
    pub fn of(unrolled: &Unrolled) -> Option<Slice> {
        let mut backwards =
            SliceBuilder { unrolled, slice: Slice::default(), heap: BinaryHeap::new() };
        for node in &unrolled.dag.nodes {
            for &arc in &node.out {
                if let Some((condition, _)) = unrolled.dag[arc].condition {
                    backwards.need(condition, 1);
                }
            }
        }
        // Operands have smaller ids than their users, and incoming values smaller ids than their
        // merged variable.
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

    /// Returns a mask of those bits of a term that can affect the path.
    pub fn bits(&self, term: TermId) -> u64 {
        self.bits.get(&term).copied().unwrap_or(0)
    }

    /// Returns the relevant terms that a term of the slice is computed from: its operands, or the
    /// incoming values of a merged variable.
    pub fn sources(&self, unrolled: &Unrolled, term: TermId) -> Vec<TermId> {
        let executor = &unrolled.executor;
        let sources: Vec<TermId> = match executor.path_dependence(term) {
            Some(Varying::Merged { incoming, .. }) => incoming.iter().map(|&(_, v)| v).collect(),
            _ => executor.pool.children(term).collect(),
        };
        sources.into_iter().filter(|&source| self.bits(source) != 0).collect()
    }
}

struct SliceBuilder<'a> {
    unrolled: &'a Unrolled,
    slice: Slice,
    /// Terms of the slice whose operands must still be processed; the term with the largest
    /// identifier comes first.
    heap: BinaryHeap<TermId>,
}

impl SliceBuilder<'_> {
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

    /// Marks those bits of a term's operands on which the term's relevant bits depend. Returns
    /// `None` for unsupported terms.
    fn operands(&mut self, term: TermId) -> Option<()> {
        let bits = self.slice.bits(term);
        if let Some(varying) = self.unrolled.executor.path_dependence(term) {
            let Varying::Merged { incoming, .. } = varying else { return None };
            incoming.iter().for_each(|&(_, value)| self.need(value, bits));
            return Some(());
        }
        let pool = &self.unrolled.executor.pool;
        let all = |term: TermId| Domain::full(pool.width(term)).hi();
        match *pool.node(term) {
            Node::Const(_) | Node::Var(_) => {}
            // A read of unknown content is supported only at a constant index.
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

/// Returns a mask of all bits up to the highest set bit. Carries go upwards, so a bit of a sum
/// depends only on bits at the same position or below.
fn up_to_highest(bits: u64) -> u64 {
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}
