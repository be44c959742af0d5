//! Derives more sample packets from one packet. It changes all inputs that the conditions leave
//! free, so that proposed facts that hold only by chance are soon refuted.
//!
//! The sequence of random numbers is the same in each run.

use super::candidates::Seen;
use slowpath_random::Random;
use slowpath_smt::{ArrayId, Evaluator, Model, Node, TermId, TermPool, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of inputs in conditions that are changed, one by one, to derive a new packet.
/// Inputs that occur in no condition are all changed.
const MAX_TRIED: usize = 96;
/// Maximum number of random numbers that are drawn to find a possible value of an input.
const DRAWS: u32 = 4;

/// An input of the program to which a solver's model gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Input {
    Var(VarId),
    Byte(ArrayId, u64),
}

/// A generator that derives new packets from a given packet. All of these packets fulfil the same
/// conditions.
pub(super) struct Sampler {
    conditions: Vec<TermId>,
    length: TermId,
    bytes: Vec<TermId>,
    /// Inputs that occur in no condition and can have any value.
    free: Vec<Input>,
    /// Inputs that occur in conditions, each with the conditions in which it occurs.
    bound: Vec<(Input, Vec<TermId>)>,
    /// Reads of packet bytes at variable offsets: each as the array of packet bytes, and the term
    /// of the offset.
    variable_reads: Vec<(ArrayId, TermId)>,
    random: Random,
}

impl Sampler {
    /// Creates a generator of packets that fulfil the given conditions. `length` and `bytes` are
    /// the terms for the length and the bytes of a packet.
    pub fn new(pool: &TermPool, conditions: &[TermId], length: TermId, bytes: &[TermId]) -> Self {
        let mut mentioned: BTreeMap<Input, Vec<TermId>> = BTreeMap::new();
        let mut walked: BTreeMap<ArrayId, Vec<TermId>> = BTreeMap::new();
        let mut places: BTreeSet<(ArrayId, TermId)> = BTreeSet::new();
        for &condition in conditions {
            for input in inputs(pool, &[condition]) {
                match input {
                    Ok(input) => mentioned.entry(input).or_default().push(condition),
                    Err((array, index)) => {
                        walked.entry(array).or_default().push(condition);
                        places.insert((array, index));
                    }
                }
            }
        }
        let mut all = bytes.to_vec();
        all.push(length);
        let all = inputs(pool, &all);
        places.extend(all.iter().filter_map(|input| input.err()));
        let found: BTreeSet<Input> = all.into_iter().flatten().collect();
        // A byte that is read at a variable offset may be any byte of its array.
        for &input in &found {
            if let Input::Byte(array, _) = input
                && let Some(conditions) = walked.get(&array)
            {
                mentioned.entry(input).or_default().extend(conditions);
            }
        }
        let free = found.into_iter().filter(|input| !mentioned.contains_key(input)).collect();
        Sampler {
            variable_reads: places.into_iter().collect(),
            conditions: conditions.to_vec(),
            length,
            bytes: bytes.to_vec(),
            free,
            bound: mentioned.into_iter().collect(),
            random: Random::new(0),
        }
    }

    /// Evaluates a solver's model: returns the length and first bytes of the packet that leaves the
    /// program.
    pub fn seen(&self, pool: &TermPool, model: &Model) -> Seen {
        let mut evaluator = Evaluator::new(pool, model);
        let length = evaluator.value(self.length);
        let there = usize::try_from(length).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes = self.bytes[..there].iter().map(|&byte| evaluator.value(byte) as u8).collect();
        Seen { length, bytes }
    }

    /// Completes a solver's model: each variable without a value gets the least value that it can
    /// have. Returns the model unchanged if a condition would no longer hold.
    pub fn complete(&self, pool: &TermPool, model: Model) -> Model {
        let mut complete = model.clone();
        for input in self.free.iter().chain(self.bound.iter().map(|(input, _)| input)) {
            if let Input::Var(var) = *input
                && complete.var(var).is_none()
            {
                complete.set_var(var, pool.var_info(var).1.lo());
            }
        }
        if holds(pool, &complete, &self.conditions) { complete } else { model }
    }

    /// Returns another model that fulfils the conditions. Changes as many inputs as possible.
    /// Inputs that occur in conditions are changed one at a time.
    pub fn vary(&mut self, pool: &TermPool, model: &Model) -> Model {
        let mut varied = model.clone();
        for index in 0..self.free.len() {
            self.change(pool, &mut varied, self.free[index]);
        }
        if !holds(pool, &varied, &self.conditions) {
            varied = model.clone();
        }
        self.vary_reads(pool, &mut varied);
        let tried = self.bound.len().min(MAX_TRIED);
        let first = self.random.bits() as usize % self.bound.len().max(1);
        for index in 0..tried {
            let (input, conditions) = self.bound[(first + index) % self.bound.len()].clone();
            let before = varied.clone();
            self.change(pool, &mut varied, input);
            if !holds(pool, &varied, &conditions) {
                varied = before;
            }
        }
        varied
    }

    /// Changes packet bytes that are read at variable offsets: as many of them as the conditions
    /// permit.
    fn vary_reads(&mut self, pool: &TermPool, model: &mut Model) {
        let mut parts = vec![(0, self.variable_reads.len())];
        let mut tried = 0;
        while let Some((first, end)) = parts.pop().filter(|_| tried < MAX_TRIED) {
            let mut changed = model.clone();
            let mut evaluator = Evaluator::new(pool, model);
            for at in first..end {
                let (array, index) = self.variable_reads[at];
                changed.set_byte(array, evaluator.value(index), self.random.bits() as u8);
            }
            tried += 1;
            if holds(pool, &changed, &self.conditions) {
                *model = changed;
            } else if end - first > 1 {
                let middle = first + (end - first) / 2;
                parts.extend([(middle, end), (first, middle)]);
            }
        }
    }

    fn change(&mut self, pool: &TermPool, model: &mut Model, input: Input) {
        match input {
            Input::Byte(array, index) => model.set_byte(array, index, self.random.bits() as u8),
            Input::Var(var) => {
                let (_, domain) = pool.var_info(var);
                let spread = (domain.hi() - domain.lo()).saturating_add(1);
                let draw = |number: u64| domain.lo() + number % spread;
                let drawn = (0..DRAWS).map(|_| draw(self.random.bits()));
                if let Some(value) = drawn.into_iter().find(|&value| domain.contains(value)) {
                    model.set_var(var, value);
                }
            }
        }
    }
}

fn holds(pool: &TermPool, model: &Model, conditions: &[TermId]) -> bool {
    let mut evaluator = Evaluator::new(pool, model);
    conditions.iter().all(|&condition| evaluator.value(condition) == 1)
}

/// Lists the inputs that occur in terms. An entry is an error with array and offset for a byte that
/// is read at a variable offset.
fn inputs(pool: &TermPool, terms: &[TermId]) -> Vec<Result<Input, (ArrayId, TermId)>> {
    let mut found = Vec::new();
    for term in pool.subterms(terms) {
        match *pool.node(term) {
            Node::Var(var) => found.push(Ok(Input::Var(var))),
            Node::Select { array, index } if pool.array_content(array).is_none() => {
                let known = pool.as_const(index).map(|index| Input::Byte(array, index));
                found.push(known.ok_or((array, index)));
            }
            _ => {}
        }
    }
    found
}
