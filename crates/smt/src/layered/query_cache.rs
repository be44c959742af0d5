//! The query cache: outcomes by conditions up to the names of their inputs, so that what was found
//! out about one round of a loop, or one part of a path, holds for every other that asks the same
//! of other bytes (as Visser, Geldenhuys and Dwyer, "Green", FSE 2012, canonicalise slices of path
//! conditions).

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use super::inputs::model_of;
use crate::domain::Domain;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, FastSet, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Most parts of queries that are kept, one by one and together.
const MAX_PARTS: usize = 20_000;
const MAX_TOTAL: usize = 2_000_000;

/// One term of a canonical query; operands are numbers of earlier parts.
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
pub(super) struct CanonicalQuery(Vec<Part>);

/// What is kept of an outcome: nothing in it names an input.
#[derive(Clone, Debug)]
enum Entry {
    /// Values for the inputs, in order.
    Sat(Vec<u64>),
    /// Positions that cannot hold together.
    Unsat(Vec<usize>),
}

/// An outcome in terms of the conditions that were asked about.
#[derive(Debug)]
pub(super) enum CachedOutcome {
    Sat(Model),
    Unsat(Vec<usize>),
}

/// Outcomes by canonical query.
#[derive(Debug, Default)]
pub(super) struct QueryCache {
    answers: FastMap<CanonicalQuery, Entry>,
    parts: usize,
}

impl QueryCache {
    /// The outcome for conditions with this canonical form and these inputs.
    pub(super) fn look_up(
        &self,
        pool: &TermPool,
        query: &CanonicalQuery,
        inputs: &[TermId],
    ) -> Option<CachedOutcome> {
        match self.answers.get(query)? {
            Entry::Unsat(core) => Some(CachedOutcome::Unsat(core.clone())),
            Entry::Sat(values) => {
                let values: BTreeMap<TermId, u64> =
                    inputs.iter().copied().zip(values.iter().copied()).collect();
                model_of(pool, &values).map(CachedOutcome::Sat)
            }
        }
    }

    /// Keeps a model of conditions with this canonical form and these inputs.
    pub(super) fn insert_sat(
        &mut self,
        pool: &TermPool,
        query: CanonicalQuery,
        inputs: &[TermId],
        model: &Model,
    ) {
        let mut evaluator = Evaluator::new(pool, model);
        let values = inputs.iter().map(|&input| evaluator.value(input)).collect();
        self.insert(query, Entry::Sat(values));
    }

    /// Keeps positions that cannot hold together.
    pub(super) fn insert_unsat(&mut self, query: CanonicalQuery, core: &[usize]) {
        self.insert(query, Entry::Unsat(core.to_vec()));
    }

    fn insert(&mut self, query: CanonicalQuery, entry: Entry) {
        self.parts += query.0.len();
        if self.parts > MAX_TOTAL {
            self.answers.clear();
            self.parts = query.0.len();
        }
        self.answers.insert(query, entry);
    }
}

/// The canonical form of conditions, and their inputs in its order; `None` if they are too large to
/// be kept.
pub(super) fn canonicalise(
    pool: &TermPool,
    inputs: &[TermId],
    terms: &[TermId],
) -> Option<(CanonicalQuery, Vec<TermId>)> {
    // Bytes of arrays that are read at unknown indices may be the same: their indices matter.
    let walked: FastSet<ArrayId> = inputs
        .iter()
        .filter_map(|&input| match *pool.node(input) {
            Node::Select { array, index } if pool.as_const(index).is_none() => Some(array),
            _ => None,
        })
        .collect();
    let mut canonical =
        Canonicaliser { pool, walked, arrays: FastMap::default(), numbers: FastMap::default() };
    let (mut parts, mut order) = (Vec::new(), Vec::new());
    for &term in terms {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if canonical.numbers.contains_key(&top) {
                stack.pop();
                continue;
            }
            let pending = stack.len();
            if !canonical.is_anonymous(top) {
                stack.extend(pool.children(top).filter(|c| !canonical.numbers.contains_key(c)));
            }
            if stack.len() == pending {
                if super::view::is_leaf(pool.node(top)) {
                    order.push(top);
                }
                let part = canonical.part(top);
                canonical.numbers.insert(top, parts.len() as u32);
                parts.push(part);
                stack.pop();
            }
        }
        parts.push(Part::Root(canonical.numbers[&term]));
        if parts.len() > MAX_PARTS {
            return None;
        }
    }
    Some((CanonicalQuery(parts), order))
}

/// The terms seen so far.
struct Canonicaliser<'a> {
    pool: &'a TermPool,
    walked: FastSet<ArrayId>,
    /// Arrays that are read at unknown indices, by first appearance.
    arrays: FastMap<ArrayId, u64>,
    numbers: FastMap<TermId, u32>,
}

impl Canonicaliser<'_> {
    /// Whether nothing but its domain is known of a term.
    fn is_anonymous(&self, term: TermId) -> bool {
        match *self.pool.node(term) {
            Node::Var(_) => true,
            Node::Select { array, .. } => !self.walked.contains(&array),
            _ => false,
        }
    }

    /// A term whose operands have numbers.
    fn part(&mut self, term: TermId) -> Part {
        if self.is_anonymous(term) {
            return Part::Input(self.pool.domain(term));
        }
        let node = self.pool.node(term);
        let mut operands = [u32::MAX; 3];
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            operands[slot] = self.numbers.get(&operand).copied().unwrap_or(u32::MAX);
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
