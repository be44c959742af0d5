//! Traversals without recursion: evaluation under a model, and the order in which to visit a term's
//! parts. Terms can be a hundred thousand levels deep, so none of this uses the call stack.

use std::collections::{HashMap, HashSet};

use crate::model::Model;
use crate::pool::TermPool;
use crate::semantics::{self, Operands};
use crate::term::{Node, TermId};

/// Evaluates many terms under one model, sharing the values of common parts.
#[derive(Debug)]
pub struct Evaluator<'a> {
    pool: &'a TermPool,
    model: &'a Model,
    values: HashMap<TermId, u64>,
}

impl<'a> Evaluator<'a> {
    /// Evaluation of terms of `pool` under `model`.
    pub fn new(pool: &'a TermPool, model: &'a Model) -> Self {
        Evaluator { pool, model, values: HashMap::new() }
    }

    /// Evaluation in which some terms have given values whatever they consist of.
    pub(crate) fn with_values(
        pool: &'a TermPool,
        model: &'a Model,
        known: impl Iterator<Item = (TermId, u64)>,
    ) -> Self {
        Evaluator { pool, model, values: known.collect() }
    }

    /// The value of `t`; for what the model does not assign see [`Model`].
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

    /// The value of a term whose operands have been evaluated.
    fn node_value(&self, t: TermId) -> u64 {
        let node = self.pool.node(t);
        let mut operands = Operands { values: [0; 3], widths: [1; 3] };
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            operands.values[slot] = self.values.get(&operand).copied().unwrap_or(0);
            operands.widths[slot] = self.pool.width(operand);
        }
        match *node {
            Node::Const(value) => value,
            Node::Var(var) => self.model.var(var).unwrap_or(0),
            Node::Select { array, .. } => {
                let index = operands.values[0];
                u64::from(match self.pool.array_content(array) {
                    Some(content) => TermPool::table_byte(content, index),
                    None => self.model.byte(array, index).unwrap_or(0),
                })
            }
            Node::Intern(..) => {
                u64::from(self.model.number_of((operands.values[0], operands.values[1])))
            }
            _ => semantics::apply(node, self.pool.width(t), &operands).unwrap_or(0),
        }
    }
}

impl TermPool {
    /// The value of `t` under `model`; for what that does not assign see [`Model`]. To evaluate many
    /// terms under one model use [`Evaluator`].
    pub fn eval(&self, t: TermId, model: &Model) -> u64 {
        Evaluator::new(self, model).value(t)
    }

    /// Every distinct term that `roots` consist of, the roots included, children before parents.
    pub fn subterms(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut seen: HashSet<TermId> = HashSet::new();
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
        // Children are made before their parents.
        all.sort_unstable();
        all
    }
}
