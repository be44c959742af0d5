//! Stores the outcomes of conditions in a form that does not depend on the names of inputs. An
//! outcome for one loop iteration, or for one part of a path, then applies to equal conditions on
//! other bytes. "Green" canonicalises slices of path conditions in the same way (Visser, Geldenhuys
//! and Dwyer, FSE 2012).

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use super::inputs::model_of;
use crate::domain::Domain;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, FastSet, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Maximum number of elements (terms and conditions) of one cached query. `MAX_TOTAL` limits their
/// number in all cached queries together.
const MAX_PARTS: usize = 20_000;
const MAX_TOTAL: usize = 2_000_000;
/// Maximum total size of the entries of [`QueryCache::repeated`]: of their conditions, the values
/// of their models, and the indices in their contradictions.
const MAX_REPEATED: usize = 1 << 16;

/// An element of a canonical query: a term or a condition. Operands are given as indices of earlier
/// elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    /// An unknown, or a byte of an array that is read only at constant indices. Only its domain
    /// matters.
    Input(Domain),
    Operator {
        kind: Discriminant<Node>,
        width: u8,
        detail: u64,
        operands: [u32; 3],
    },
    /// A condition of the query: the element with this index must be true.
    Root(u32),
}

/// Conditions in canonical form: without the names of inputs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CanonicalQuery(Vec<Part>);

/// A cached outcome, independent of the names of inputs.
#[derive(Clone, Debug)]
enum Entry {
    /// All conditions hold for these values of the inputs, in canonical order.
    Sat(Vec<u64>),
    /// The conditions at these indices cannot hold together.
    Unsat(Vec<usize>),
}

/// A cached outcome, translated to the inputs and positions of the current conditions.
#[derive(Clone, Debug)]
pub(super) enum CachedOutcome {
    Sat(Model),
    Unsat(Vec<usize>),
}

impl CachedOutcome {
    /// Returns the size of the outcome: the number of values of its model, or of conditions that
    /// contradict each other.
    fn size(&self) -> usize {
        match self {
            CachedOutcome::Sat(model) => model.size(),
            CachedOutcome::Unsat(core) => core.len(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct QueryCache {
    answers: FastMap<CanonicalQuery, Entry>,
    parts: usize,
    /// Outcomes that [`look_up`](Self::look_up) has returned, by the conditions themselves.
    /// Conditions that many paths share are found here without computing their canonical form.
    repeated: FastMap<Box<[TermId]>, CachedOutcome>,
    /// Total size of the entries of `repeated`: the number of their conditions plus the sizes of
    /// their outcomes.
    conditions: usize,
}

impl QueryCache {
    /// Returns the outcome that [`look_up`](Self::look_up) has returned for the same conditions
    /// before, if it did.
    pub(super) fn repeated(&self, terms: &[TermId]) -> Option<CachedOutcome> {
        self.repeated.get(terms).cloned()
    }

    /// Stores an outcome that [`look_up`](Self::look_up) has returned for these conditions.
    pub(super) fn repeat(&mut self, terms: &[TermId], outcome: &CachedOutcome) {
        let size = terms.len() + outcome.size();
        self.conditions += size;
        if self.conditions > MAX_REPEATED {
            self.repeated.clear();
            self.conditions = size;
        }
        self.repeated.insert(terms.into(), outcome.clone());
    }

    /// Returns the cached outcome for conditions with this canonical form, if there is one. A model
    /// in the outcome assigns values to `inputs`, which are the inputs in canonical order.
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

    /// Stores a model for conditions with this canonical form and these inputs.
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

    /// Stores that the conditions at the indices in `core` cannot hold together.
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

/// Returns the canonical form of conditions, and their inputs in canonical order. Returns `None` if
/// the conditions are too large for the cache.
pub(super) fn canonicalise(
    pool: &TermPool,
    inputs: &[TermId],
    terms: &[TermId],
) -> Option<(CanonicalQuery, Vec<TermId>)> {
    // If an array is read at an unknown index, bytes of this array can coincide, so indices matter.
    let walked: FastSet<ArrayId> = inputs
        .iter()
        .filter_map(|&input| match *pool.node(input) {
            Node::Select { array, index } if pool.as_const(index).is_none() => Some(array),
            _ => None,
        })
        .collect();
    let mut canonical = Canonicaliser {
        pool,
        symbolically_indexed: walked,
        arrays: FastMap::default(),
        numbers: FastMap::default(),
    };
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

/// Working state while conditions are brought into canonical form (without the names of inputs).
struct Canonicaliser<'a> {
    pool: &'a TermPool,
    symbolically_indexed: FastSet<ArrayId>,
    /// For each array that is read at an unknown index, its number, counted in order of first
    /// appearance.
    arrays: FastMap<ArrayId, u64>,
    numbers: FastMap<TermId, u32>,
}

impl Canonicaliser<'_> {
    /// Returns true if the term is an unknown or a byte of an array that is read only at constant
    /// indices. Only its domain then matters for the outcome of the query.
    fn is_anonymous(&self, term: TermId) -> bool {
        match *self.pool.node(term) {
            Node::Var(_) => true,
            Node::Select { array, .. } => !self.symbolically_indexed.contains(&array),
            _ => false,
        }
    }

    /// Returns the query element that represents a term. The operands of the term must have been
    /// numbered.
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
