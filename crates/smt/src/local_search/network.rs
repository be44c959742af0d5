//! Keeps the values of terms in a set of conditions up to date while inputs change.

use super::input::{Input, input_of};
use crate::domain::Domain;
use crate::eval::{evaluate, node_value};
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::{Node, TermId};
use crate::term_map::TermMap;
use std::collections::BTreeSet;

/// Index that marks the end of a linked list in `parents`.
const END: u32 = u32::MAX;

/// Terms of conditions with their values under a model. Terms are evaluated when they are needed,
/// with all their operands.
pub(super) struct Network<'a> {
    pool: &'a TermPool,
    domain: &'a dyn Fn(TermId) -> Domain,
    model: Model,
    values: TermMap<u64>,
    /// For each term, the index in `parents` at which the list of the terms that use it begins.
    last_parent: TermMap<u32>,
    /// Linked lists of the terms that use each term as an operand. Each entry contains a user, and
    /// the index of the next entry of the same list.
    parents: Vec<(TermId, u32)>,
    /// For each input, the terms that read it. A read of an array stays in the list of a byte even
    /// after its index has changed and it reads another byte.
    inputs: FastMap<Input, Vec<TermId>>,
    /// Evaluated inputs, and evaluated numbers of interned pairs.
    leaves: Vec<TermId>,
}

impl<'a> Network<'a> {
    /// Creates a network without terms. `domain` returns the permitted values of an input. An input
    /// without a value in this set gets its smallest member when it is evaluated.
    pub fn new(pool: &'a TermPool, start: &Model, domain: &'a dyn Fn(TermId) -> Domain) -> Self {
        Network {
            pool,
            domain,
            model: start.clone(),
            values: TermMap::new(pool.len()),
            last_parent: TermMap::new(pool.len()),
            parents: Vec::new(),
            inputs: FastMap::default(),
            leaves: Vec::new(),
        }
    }

    /// Returns the value of a term, which is evaluated if necessary.
    pub fn evaluate(&mut self, root: TermId) -> u64 {
        if let Some(value) = self.values.get(root) {
            return value;
        }
        let Network { pool, domain, model, values, last_parent, parents, inputs, leaves } = self;
        // A term that reads the same byte as an evaluated one can change it, because it permits
        // other values. Any start is valid, so the order of evaluation may decide.
        let mut changes = Vec::new();
        let value = evaluate(pool, root, values, |values, term, operands| {
            for child in pool.children(term) {
                let next = last_parent.get(child).unwrap_or(END);
                last_parent.insert(child, parents.len() as u32);
                parents.push((term, next));
            }
            let now = node_value(pool, model, term, operands);
            if let Node::Intern(..) = pool.node(term) {
                leaves.push(term);
            }
            let Some(input) = input_of(pool, term, |index| values.get(index).unwrap_or(0)) else {
                return now;
            };
            leaves.push(term);
            let readers = inputs.entry(input).or_default();
            readers.push(term);
            let allowed = domain(term);
            let free = allowed.lo() != 0 && !input.is_assigned(model);
            if !free && allowed.contains(now) {
                return now;
            }
            if readers.len() > 1 {
                changes.push((input, allowed.lo()));
                return now;
            }
            input.assign(model, allowed.lo());
            allowed.lo()
        });
        if changes.is_empty() {
            return value;
        }
        for (input, value) in changes {
            self.change(input, value);
        }
        self.value_of(root).unwrap_or(value)
    }

    /// Returns the model, completed with the current values of all evaluated inputs and the numbers
    /// of all evaluated pairs.
    pub fn into_model(mut self) -> Model {
        for &leaf in &self.leaves {
            let value = |term| self.values.get(term).unwrap_or(0);
            if let Node::Intern(a, b) = *self.pool.node(leaf) {
                self.model.set_interned((value(a), value(b)), value(leaf) as u32);
            } else if let Some(input) = input_of(self.pool, leaf, value) {
                input.assign(&mut self.model, value(leaf));
            }
        }
        self.model
    }

    /// Returns the value of a term, or `None` if it has not been evaluated.
    pub fn value_of(&self, term: TermId) -> Option<u64> {
        self.values.get(term)
    }

    /// Assigns a new value to an input and updates all evaluated terms that depend on it. Returns
    /// the terms whose values have changed.
    pub fn change(&mut self, input: Input, value: u64) -> Vec<TermId> {
        input.assign(&mut self.model, value);
        let places = self.inputs.get(&input).into_iter().flatten().copied();
        // Operands have smaller ids than the terms that use them.
        let mut dirty: BTreeSet<TermId> = places.collect();
        let mut changed = Vec::new();
        while let Some(term) = dirty.pop_first() {
            let operand = |term| self.values.get(term).unwrap_or(0);
            if let Some(moved @ Input::Byte(..)) = input_of(self.pool, term, operand) {
                // If the index changed, the term now reads another byte.
                let readers = self.inputs.entry(moved).or_default();
                if !readers.contains(&term) {
                    readers.push(term);
                }
            }
            let value = self.computed(term);
            if Some(value) == self.values.get(term) {
                continue;
            }
            self.values.insert(term, value);
            changed.push(term);
            let mut next = self.last_parent.get(term).unwrap_or(END);
            while let Some(&(parent, further)) = self.parents.get(next as usize) {
                dirty.insert(parent);
                next = further;
            }
        }
        changed
    }

    /// Computes the value of a term from the values of its operands.
    fn computed(&self, term: TermId) -> u64 {
        let mut operands = [0; 3];
        for (slot, child) in self.pool.children(term).enumerate() {
            operands[slot] = self.value_of(child).unwrap_or(0);
        }
        node_value(self.pool, &self.model, term, operands)
    }
}
