//! How well a term mixes its inputs: what hash functions and checksums do, and what makes a SAT
//! solver search for ages although almost any input would do.
//!
//! The measure is a heuristic: it decides what is tried first, never an answer.

use crate::pool::TermPool;
use crate::term::{Node, TermId};

/// From this depth on a term is opaque: at first, it is an unknown of its own to the engine.
const OPAQUE: u16 = 12;
/// Narrower terms are never opaque: an engine goes through their values.
const MIN_WIDTH: u8 = 8;

/// The depth of mixing of each term of a pool, computed when first asked for.
#[derive(Debug, Default)]
pub(super) struct Mixing {
    depths: Vec<u16>,
}

impl Mixing {
    /// Whether a term is to be treated as an unknown, whatever it consists of.
    pub(super) fn is_opaque(&mut self, pool: &TermPool, term: TermId) -> bool {
        let width = pool.width(term);
        width >= MIN_WIDTH && cost(pool, term) > 0 && self.depth(pool, term) >= OPAQUE
    }

    fn depth(&mut self, pool: &TermPool, term: TermId) -> u16 {
        // Children have been made before their parents.
        for index in self.depths.len()..=term.index() {
            let term = TermId(index as u32);
            // Behind a byte or a number there is a new beginning: it is free to be anything.
            let below = match *pool.node(term) {
                Node::Select { .. } | Node::Intern(..) => 0,
                _ => pool.children(term).map(|child| self.depths[child.index()]).max().unwrap_or(0),
            };
            self.depths.push(below.saturating_add(cost(pool, term)));
        }
        self.depths[term.index()]
    }
}

/// What one operator adds to the depth: about the number of adders in a row.
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

/// Non-zero digits of a number written with the digits -1, 0 and 1: the adders that a product with
/// it takes.
fn digits(factor: u64) -> u16 {
    let wide = u128::from(factor);
    ((wide ^ (3 * wide)).count_ones()) as u16
}
