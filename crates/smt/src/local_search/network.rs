//! Keeps the values of all terms in a set of conditions up to date while inputs change.

use super::input::{Input, input_of};
use crate::eval::node_value;
use crate::model::Model;
use crate::pool::{NodeHasher, TermPool};
use crate::term::{Node, TermId};
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

/// All terms of a set of conditions with their values under a model. Operands come before the terms
/// that use them.
pub(super) struct Network<'a> {
    pool: &'a TermPool,
    model: Model,
    terms: Vec<TermId>,
    values: Vec<u64>,
    positions: HashMap<TermId, usize, BuildHasherDefault<NodeHasher>>,
    /// For each term, the index in `parents` of the first term that uses it. One more entry marks
    /// the end.
    first_parent: Vec<u32>,
    parents: Vec<u32>,
    /// Maps the position of a term in `terms` to its positions in the caller's list of conditions.
    conditions: HashMap<usize, Vec<usize>>,
    /// For each input, the positions of the terms that read it. A term stays in the list even if
    /// its index has changed, so that it now reads another byte.
    inputs: HashMap<Input, Vec<usize>>,
    changed: BTreeSet<usize>,
}

impl<'a> Network<'a> {
    pub fn new(pool: &'a TermPool, start: &Model, conditions: &[TermId]) -> Self {
        let terms = pool.subterms(conditions);
        let hasher = BuildHasherDefault::default();
        let mut positions = HashMap::with_capacity_and_hasher(terms.len(), hasher);
        let mut values = Vec::with_capacity(terms.len());
        for (position, &term) in terms.iter().enumerate() {
            let mut operands = [0; 3];
            for (slot, child) in pool.children(term).enumerate() {
                operands[slot] = values[positions[&child]];
            }
            values.push(node_value(pool, start, term, operands));
            positions.insert(term, position);
        }
        let children = |term: TermId| pool.children(term).map(|child| positions[&child]);
        let mut first_parent = vec![0u32; terms.len() + 1];
        for &term in &terms {
            children(term).for_each(|child| first_parent[child + 1] += 1);
        }
        for position in 0..terms.len() {
            first_parent[position + 1] += first_parent[position];
        }
        let mut next = first_parent.clone();
        let mut parents = vec![0; first_parent.last().copied().unwrap_or(0) as usize];
        for (parent, &term) in terms.iter().enumerate() {
            for child in children(term) {
                parents[next[child] as usize] = parent as u32;
                next[child] += 1;
            }
        }
        let mut of_term: HashMap<usize, Vec<usize>> = HashMap::new();
        for (condition, term) in conditions.iter().enumerate() {
            of_term.entry(positions[term]).or_default().push(condition);
        }
        let mut network = Network {
            pool,
            model: start.clone(),
            values,
            first_parent,
            parents,
            conditions: of_term,
            inputs: HashMap::new(),
            changed: BTreeSet::new(),
            positions,
            terms,
        };
        for position in 0..network.len() {
            if let Some(input) = network.input(position) {
                network.inputs.entry(input).or_default().push(position);
            }
        }
        network
    }

    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn term(&self, position: usize) -> TermId {
        self.terms[position]
    }

    pub fn value(&self, position: usize) -> u64 {
        self.values[position]
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the model, completed with the current values of all inputs and the numbers of all
    /// interned pairs.
    pub fn into_model(mut self) -> Model {
        for position in 0..self.len() {
            if let Some(input) = self.input(position) {
                input.assign(&mut self.model, self.values[position]);
            }
            if let Node::Intern(a, b) = *self.pool.node(self.terms[position]) {
                let value = |term| self.value_of(term).unwrap_or(0);
                let pair = (value(a), value(b));
                self.model.set_interned(pair, self.values[position] as u32);
            }
        }
        self.model
    }

    pub fn value_of(&self, term: TermId) -> Option<u64> {
        self.positions.get(&term).map(|&position| self.values[position])
    }

    /// Returns the input at a position, or `None` if the term is not an input.
    pub fn input(&self, position: usize) -> Option<Input> {
        let index = |term| self.value_of(term).unwrap_or(0);
        input_of(self.pool, self.terms[position], index)
    }

    /// Assigns a new value to an input and updates all terms that depend on it.
    pub fn change(&mut self, input: Input, value: u64) {
        input.assign(&mut self.model, value);
        let places = self.inputs.get(&input).into_iter().flatten().copied();
        let mut dirty: BTreeSet<usize> = places.collect();
        while let Some(position) = dirty.pop_first() {
            if let Some(moved @ Input::Byte(..)) = self.input(position) {
                // If the index changed, the term now reads another byte.
                let places = self.inputs.entry(moved).or_default();
                if !places.contains(&position) {
                    places.push(position);
                }
            }
            let value = self.computed(position);
            if value == self.values[position] {
                continue;
            }
            self.values[position] = value;
            if self.conditions.contains_key(&position) {
                self.changed.insert(position);
            }
            let range = self.first_parent[position]..self.first_parent[position + 1];
            dirty.extend(range.map(|at| self.parents[at as usize] as usize));
        }
    }

    /// Computes the value of a term from the values of its operands.
    fn computed(&self, position: usize) -> u64 {
        let term = self.terms[position];
        let mut operands = [0; 3];
        for (slot, child) in self.pool.children(term).enumerate() {
            operands[slot] = self.value_of(child).unwrap_or(0);
        }
        node_value(self.pool, &self.model, term, operands)
    }

    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Returns the conditions whose values have changed since the last call.
    pub fn changed_conditions(&mut self) -> Vec<usize> {
        let changed = std::mem::take(&mut self.changed);
        let conditions = changed.iter().filter_map(|position| self.conditions.get(position));
        conditions.flatten().copied().collect()
    }
}
