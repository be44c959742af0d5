//! Conditions up to the names of their inputs: what was found out about one round of a loop, or one
//! part of a path, holds for every other that asks the same of other bytes.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use super::inputs::model_of;
use crate::domain::Domain;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, FastSet, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Most parts of conditions that are remembered, one by one and together.
const MAX_SHAPE: usize = 20_000;
const MAX_TOTAL: usize = 2_000_000;

/// One term of a shape; operands are places of earlier parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// An unknown, or a byte that can be confused with no other.
    Input(Domain),
    Operator {
        kind: Discriminant<Node>,
        width: u8,
        detail: u64,
        operands: [u32; 3],
    },
    /// A condition.
    Root(u32),
}

/// Conditions without the names of their inputs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape(Vec<Part>);

/// What is known about conditions of a shape.
#[derive(Clone, Debug)]
enum Known {
    /// Values for the inputs, in order.
    Sat(Vec<u64>),
    /// Positions that cannot hold together.
    Unsat(Vec<usize>),
}

/// What a shape says about the conditions that have it.
#[derive(Debug)]
pub(super) enum Recalled {
    Sat(Model),
    Unsat(Vec<usize>),
}

/// Answers by shape.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: FastMap<Shape, Known>,
    parts: usize,
}

impl Memory {
    /// What is known about conditions with this shape and these inputs.
    pub(super) fn recall(
        &self,
        pool: &TermPool,
        shape: &Shape,
        inputs: &[TermId],
    ) -> Option<Recalled> {
        match self.answers.get(shape)? {
            Known::Unsat(core) => Some(Recalled::Unsat(core.clone())),
            Known::Sat(values) => {
                let values: BTreeMap<TermId, u64> =
                    inputs.iter().copied().zip(values.iter().copied()).collect();
                model_of(pool, &values).map(Recalled::Sat)
            }
        }
    }

    /// Remembers a model of conditions with this shape and these inputs.
    pub(super) fn satisfiable(
        &mut self,
        pool: &TermPool,
        shape: Shape,
        inputs: &[TermId],
        model: &Model,
    ) {
        let mut evaluator = Evaluator::new(pool, model);
        let values = inputs.iter().map(|&input| evaluator.value(input)).collect();
        self.remember(shape, Known::Sat(values));
    }

    /// Remembers positions that cannot hold together.
    pub(super) fn unsatisfiable(&mut self, shape: Shape, core: &[usize]) {
        self.remember(shape, Known::Unsat(core.to_vec()));
    }

    fn remember(&mut self, shape: Shape, known: Known) {
        self.parts += shape.0.len();
        if self.parts > MAX_TOTAL {
            self.answers.clear();
            self.parts = shape.0.len();
        }
        self.answers.insert(shape, known);
    }
}

/// The shape of conditions, and their inputs in its order; `None` if they are too large to be
/// remembered.
pub(super) fn shape(
    pool: &TermPool,
    inputs: &[TermId],
    terms: &[TermId],
) -> Option<(Shape, Vec<TermId>)> {
    // Bytes of arrays that are read at unknown indices may be the same: their indices matter.
    let walked: FastSet<ArrayId> = inputs
        .iter()
        .filter_map(|&input| match *pool.node(input) {
            Node::Select { array, index } if pool.as_const(index).is_none() => Some(array),
            _ => None,
        })
        .collect();
    let mut walk = Walk { pool, walked, arrays: FastMap::default(), places: FastMap::default() };
    let (mut parts, mut order) = (Vec::new(), Vec::new());
    for &term in terms {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if walk.places.contains_key(&top) {
                stack.pop();
                continue;
            }
            let pending = stack.len();
            if !walk.is_anonymous(top) {
                stack.extend(pool.children(top).filter(|c| !walk.places.contains_key(c)));
            }
            if stack.len() == pending {
                if super::view::is_leaf(pool.node(top)) {
                    order.push(top);
                }
                let part = walk.part(top);
                walk.places.insert(top, parts.len() as u32);
                parts.push(part);
                stack.pop();
            }
        }
        parts.push(Part::Root(walk.places[&term]));
        if parts.len() > MAX_SHAPE {
            return None;
        }
    }
    Some((Shape(parts), order))
}

/// The terms seen so far.
struct Walk<'a> {
    pool: &'a TermPool,
    walked: FastSet<ArrayId>,
    /// Arrays that are read at unknown indices, by first appearance.
    arrays: FastMap<ArrayId, u64>,
    places: FastMap<TermId, u32>,
}

impl Walk<'_> {
    /// Whether nothing but its domain is known of a term.
    fn is_anonymous(&self, term: TermId) -> bool {
        match *self.pool.node(term) {
            Node::Var(_) => true,
            Node::Select { array, .. } => !self.walked.contains(&array),
            _ => false,
        }
    }

    /// A term whose operands have places.
    fn part(&mut self, term: TermId) -> Part {
        if self.is_anonymous(term) {
            return Part::Input(self.pool.domain(term));
        }
        let node = self.pool.node(term);
        let mut operands = [u32::MAX; 3];
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            operands[slot] = self.places.get(&operand).copied().unwrap_or(u32::MAX);
        }
        let detail = match *node {
            Node::Const(value) => value,
            Node::Extract { lo, .. } => u64::from(lo),
            Node::Select { array, .. } if self.pool.array_content(array).is_some() => {
                1 << 32 | array.index() as u64
            }
            Node::Select { array, .. } => {
                let next = self.arrays.len() as u64;
                *self.arrays.entry(array).or_insert(next)
            }
            _ => 0,
        };
        Part::Operator { kind: discriminant(node), width: self.pool.width(term), detail, operands }
    }
}
