//! Evaluates terms under a model, and lists their subterms. The code uses no recursion: terms can
//! be a hundred thousand levels deep, so recursion would exhaust the stack.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use crate::model::Model;
use crate::pool::{NodeHasher, TermPool};
use crate::semantics::{self, Operands};
use crate::term::{Node, TermId};
use crate::term_map::TermMap;

type Hasher = BuildHasherDefault<NodeHasher>;

/// An evaluator of terms under one model. It computes the value of each subterm once.
#[derive(Debug)]
pub struct Evaluator<'a> {
    pool: &'a TermPool,
    model: &'a Model,
    values: HashMap<TermId, u64, Hasher>,
}

/// Values of terms under one model. They can be passed to a later evaluator for the same model.
#[derive(Debug, Default)]
pub struct EvaluatorCache(HashMap<TermId, u64, Hasher>);

impl<'a> Evaluator<'a> {
    /// Creates an evaluator without cached values.
    pub fn new(pool: &'a TermPool, model: &'a Model) -> Self {
        Evaluator { pool, model, values: HashMap::default() }
    }

    /// Creates an evaluator with values that an earlier evaluator computed for this model.
    pub fn with_cache(pool: &'a TermPool, model: &'a Model, cache: EvaluatorCache) -> Self {
        Evaluator { pool, model, values: cache.0 }
    }

    /// Returns all values computed so far.
    pub fn into_cache(self) -> EvaluatorCache {
        EvaluatorCache(self.values)
    }

    /// Creates an evaluator that uses the given values for the terms in `known` instead of
    /// computing them.
    pub(crate) fn with_values(
        pool: &'a TermPool,
        model: &'a Model,
        known: impl Iterator<Item = (TermId, u64)>,
    ) -> Self {
        Evaluator { pool, model, values: known.collect() }
    }

    /// Returns the value of `t`. Unassigned unknowns, bytes and numbers have the values that
    /// [`Model`] defines.
    pub fn value(&mut self, t: TermId) -> u64 {
        let mut stack = vec![t];
        while let Some(&top) = stack.last() {
            if self.values.contains_key(&top) {
                stack.pop();
                continue;
            }
            let pending = stack.len();
            stack.extend(self.pool.children(top).filter(|c| !self.values.contains_key(c)));
            if stack.len() == pending {
                let value = self.node_value(top);
                self.values.insert(top, value);
                stack.pop();
            }
        }
        self.values[&t]
    }

    /// Computes the value of a term whose operands have been evaluated.
    fn node_value(&self, t: TermId) -> u64 {
        let mut values = [0; 3];
        for (slot, operand) in self.pool.children(t).enumerate() {
            values[slot] = self.values.get(&operand).copied().unwrap_or(0);
        }
        node_value(self.pool, self.model, t, values)
    }
}

/// Returns the value of a term, and adds the missing values of the term and its subterms to
/// `values`. `compute` gets `values`, a term and the values of its operands, and returns the term's
/// value. [`Evaluator`] is faster if only few of a pool's terms are evaluated.
pub(crate) fn evaluate(
    pool: &TermPool,
    root: TermId,
    values: &mut TermMap<u64>,
    mut compute: impl FnMut(&TermMap<u64>, TermId, [u64; 3]) -> u64,
) -> u64 {
    if let Some(value) = values.get(root) {
        return value;
    }
    let mut stack = vec![root];
    let mut last = 0;
    while let Some(&top) = stack.last() {
        let mut operands = [0; 3];
        let pending = stack.len();
        for (slot, child) in pool.children(top).enumerate() {
            match values.get(child) {
                Some(value) => operands[slot] = value,
                None => stack.push(child),
            }
        }
        if stack.len() > pending {
            continue;
        }
        stack.pop();
        // Another user of a term may have put it on the stack, too.
        last = match values.get(top) {
            Some(value) => value,
            None => {
                let value = compute(values, top, operands);
                values.insert(top, value);
                value
            }
        };
    }
    last
}

/// Computes the value of a term from the values of its operands. The model supplies the values of
/// unknowns, bytes of arrays and numbers of interned pairs.
pub(crate) fn node_value(pool: &TermPool, model: &Model, t: TermId, values: [u64; 3]) -> u64 {
    let node = pool.node(t);
    match *node {
        Node::Const(value) => value,
        Node::Var(var) => model.var(var).unwrap_or(0),
        Node::Select { array, .. } => u64::from(match pool.array_content(array) {
            Some(content) => TermPool::table_byte(content, values[0]),
            None => model.byte(array, values[0]).unwrap_or(0),
        }),
        Node::Intern(..) => u64::from(model.number_of((values[0], values[1]))),
        _ => {
            let mut operands = Operands { values, widths: [1; 3] };
            for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
                operands.widths[slot] = pool.width(operand);
            }
            semantics::apply(node, pool.width(t), &operands).unwrap_or(0)
        }
    }
}

impl TermPool {
    /// Returns the value of `t` under `model`. Unassigned unknowns, bytes and numbers have the
    /// values that [`Model`] defines. [`Evaluator`] is faster for many terms under one model.
    pub fn eval(&self, t: TermId, model: &Model) -> u64 {
        Evaluator::new(self, model).value(t)
    }

    /// Returns every distinct subterm of `roots`, including the roots. Operands come before the
    /// terms that use them.
    pub fn subterms(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut seen: HashSet<TermId, Hasher> = HashSet::default();
        let mut stack: Vec<TermId> = Vec::new();
        for &root in roots {
            if seen.insert(root) {
                stack.push(root);
            }
        }
        let mut all = Vec::new();
        while let Some(t) = stack.pop() {
            all.push(t);
            stack.extend(self.children(t).filter(|&c| seen.insert(c)));
        }
        // Operands are created before the terms that use them, so sorting by id yields this order.
        all.sort_unstable();
        all
    }
}
