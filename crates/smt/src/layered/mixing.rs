//! Measures how thoroughly a term mixes its inputs (mixing depth). Hash functions and checksums mix
//! deeply. A SAT solver can take very long to invert such terms, although almost any input would
//! satisfy the conditions.
//!
//! The measure is a heuristic. It affects the order of attempts, but never an answer.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// Minimum mixing depth at which a term is opaque. At first, the engine treats opaque terms as
/// unknowns.
const OPAQUE: u16 = 12;
/// Minimum width of opaque terms in bits. An engine can enumerate the values of narrower terms.
const MIN_WIDTH: u8 = 8;

/// Cache of each term's mixing depth, a measure of how hard a SAT solver can invert the term.
#[derive(Debug, Default)]
pub(super) struct Mixing {
    depths: Vec<u16>,
}

impl Mixing {
    /// Returns true if the term mixes its inputs so deeply that the engine should treat it as an
    /// unknown.
    pub(super) fn is_opaque(&mut self, pool: &TermPool, term: TermId) -> bool {
        let width = pool.width(term);
        width >= MIN_WIDTH && cost(pool, term) > 0 && self.depth(pool, term) >= OPAQUE
    }

    fn depth(&mut self, pool: &TermPool, term: TermId) -> u16 {
        // Operands have smaller ids than the terms that use them, so their depths are known.
        for index in self.depths.len()..=term.index() {
            let term = TermId(index as u32);
            // The index of a byte does not determine the byte's value, so the depth starts from
            // zero again. The same holds for numbers of pairs.
            let below = match *pool.node(term) {
                Node::Select { .. } | Node::Intern(..) => 0,
                _ => pool.children(term).map(|child| self.depths[child.index()]).max().unwrap_or(0),
            };
            self.depths.push(below.saturating_add(cost(pool, term)));
        }
        self.depths[term.index()]
    }
}

/// Returns the mixing depth that a term's operator adds to that of its operands: roughly, the
/// length of the operator's chain of adders.
fn cost(pool: &TermPool, term: TermId) -> u16 {
    let width = u16::from(pool.width(term));
    match *pool.node(term) {
        Node::Mul(_, b) => match pool.as_const(b) {
            Some(factor) => digits(factor).min(width / 4),
            None => width / 4,
        },
        Node::Udiv(..) | Node::Urem(..) | Node::Sdiv(..) | Node::Srem(..) => width / 4,
        Node::Shl(..) | Node::Lshr(..) | Node::Ashr(..) => 2,
        Node::Add(_, b) | Node::Xor(_, b) if pool.as_const(b).is_none() => 1,
        _ => 0,
    }
}

/// Returns the smallest number of non-zero digits with which a number can be written in signed
/// binary (digits -1, 0, 1). A multiplication by the number needs about as many adders.
fn digits(factor: u64) -> u16 {
    let wide = u128::from(factor);
    ((wide ^ (3 * wide)).count_ones()) as u16
}
