//! What ties the unknowns that stand for bytes and numbers together, added only where a model of Z3
//! violates it (lazy Ackermann reduction):
//!
//! - bytes of an unconstrained array at equal indices are equal;
//! - the byte of a table is the one that the table holds at the index;
//! - numbers of pairs are equal exactly if the pairs are.
//!
//! All of this is judged by the values that Z3 chose for the bytes, numbers and opaque terms
//! themselves, whatever they consist of: then it holds for nested ones too once no place is violated.

use std::collections::HashMap;

use ::z3::ast::{BV, Bool};

use super::BACKEND;
use super::engine::Engine;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::TermPool;
use crate::term::{ArrayId, Node, TermId};

/// Longest table that is asserted as a whole for a byte of it that was wrong once.
const MAX_TABLE: usize = 1024;
/// Most terms with one wrong number of which each is told from each other at once.
const MAX_CLASS: usize = 32;

/// A byte with its index, or a number with its pair, as Z3's model has it.
#[derive(Clone, Copy)]
struct Seen {
    term: TermId,
    operands: [TermId; 2],
    value: u64,
}

/// What a model got wrong.
enum Violation {
    /// Two bytes of one array at one index differ.
    Bytes(Seen, Seen),
    /// A byte of a table is not what the table holds at this index.
    Table(ArrayId, Seen, u64),
    /// Two pairs are equal and their numbers are not, or the other way round.
    Numbers(Seen, Seen),
}

impl Engine {
    /// Z3's model in terms of the pool, or `None` when bytes or numbers of it contradict each
    /// other; then the facts that exclude this have been added.
    pub(super) fn consistent_model(
        &mut self,
        pool: &TermPool,
        leaves: &[TermId],
    ) -> Result<Option<Model>, SolverError> {
        let z3_model = self
            .solver
            .get_model()
            .ok_or(SolverError::Incomplete { backend: BACKEND, missing: "a model" })?;
        let missing = SolverError::Incomplete { backend: BACKEND, missing: "a value" };
        let mut model = Model::new();
        let mut bytes: Vec<(ArrayId, Seen)> = Vec::new();
        let mut numbers: Vec<Seen> = Vec::new();
        let mut opaque: Vec<(TermId, u64)> = Vec::new();
        for &term in leaves {
            let value = self.translator.value(&z3_model, term).ok_or_else(|| missing.clone())?;
            match *pool.node(term) {
                Node::Var(var) => model.set_var(var, value),
                Node::Select { array, index } => {
                    bytes.push((array, Seen { term, operands: [index, index], value }));
                }
                Node::Intern(a, b) => numbers.push(Seen { term, operands: [a, b], value }),
                _ => opaque.push((term, value)),
            }
        }
        let mut violations = Vec::new();
        let (places, pairs) = {
            let leaves = bytes.iter().map(|(_, seen)| seen).chain(&numbers);
            let known = leaves.map(|seen| (seen.term, seen.value)).chain(opaque);
            let mut evaluator = Evaluator::with_values(pool, &model, known);
            let places = check_bytes(pool, &mut evaluator, &bytes, &mut violations);
            (places, check_numbers(&mut evaluator, &numbers, &mut violations))
        };
        if violations.is_empty() {
            for ((array, index), seen) in places {
                model.set_byte(array, index, seen.value as u8);
            }
            for (pair, seen) in pairs {
                model.set_interned(pair, seen.value as u32);
            }
            return Ok(Some(model));
        }
        for violation in violations {
            self.exclude(pool, &violation);
        }
        Ok(None)
    }

    /// Adds the fact that a model violated.
    fn exclude(&mut self, pool: &TermPool, violation: &Violation) {
        match *violation {
            Violation::Bytes(a, b) => {
                let same_index = self.bits(pool, a.operands[0]).eq(self.bits(pool, b.operands[0]));
                let same = self.bits(pool, a.term).eq(self.bits(pool, b.term));
                self.solver.assert(same_index.implies(&same));
            }
            Violation::Numbers(a, b) => {
                let [first, second] = [0, 1]
                    .map(|n| self.bits(pool, a.operands[n]).eq(self.bits(pool, b.operands[n])));
                let same = self.bits(pool, a.term).eq(self.bits(pool, b.term));
                self.solver.assert(Bool::and(&[first, second]).iff(&same));
            }
            Violation::Table(array, seen, index) => self.assert_table(pool, array, seen, index),
        }
    }

    fn bits(&mut self, pool: &TermPool, term: TermId) -> BV {
        self.translator.bits(pool, term, &self.solver)
    }

    /// Asserts what a table holds: everything, if it is short, else around `index`.
    fn assert_table(&mut self, pool: &TermPool, array: ArrayId, seen: Seen, index: u64) {
        let Some(content) = pool.array_content(array) else { return };
        let whole = content.len() <= MAX_TABLE;
        if whole && !self.tabled.insert(seen.term) {
            return;
        }
        let domain = pool.domain(seen.operands[0]);
        let (at, byte) = (self.bits(pool, seen.operands[0]), self.bits(pool, seen.term));
        let literal = |value| BV::from_u64(value, u32::from(domain.width()));
        let holds = |value: u8| byte.eq(BV::from_u64(u64::from(value), 8));
        let length = content.len() as u64;
        if (whole || index >= length) && domain.hi() >= length {
            self.solver.assert(at.bvuge(literal(length)).implies(holds(0)));
        }
        let possible = (0u64..).zip(content).filter(|&(place, _)| domain.contains(place));
        // Runs of the same byte: places between them are none that the index can have.
        let mut runs: Vec<(u64, u64, u8)> = Vec::new();
        for (place, &value) in possible {
            match runs.last_mut() {
                Some((_, last, known)) if *known == value => *last = place,
                _ => runs.push((place, place, value)),
            }
        }
        for (first, last, value) in runs {
            if whole || (first..=last).contains(&index) {
                let inside = [at.bvuge(literal(first)), at.bvule(literal(last))];
                self.solver.assert(Bool::and(&inside).implies(holds(value)));
            }
        }
    }
}

/// Collects what is wrong with bytes; returns those of unconstrained arrays by place.
fn check_bytes(
    pool: &TermPool,
    evaluator: &mut Evaluator<'_>,
    bytes: &[(ArrayId, Seen)],
    violations: &mut Vec<Violation>,
) -> HashMap<(ArrayId, u64), Seen> {
    let mut places: HashMap<(ArrayId, u64), Seen> = HashMap::new();
    for &(array, seen) in bytes {
        let index = evaluator.value(seen.operands[0]);
        if let Some(content) = pool.array_content(array) {
            if u64::from(TermPool::table_byte(content, index)) != seen.value {
                violations.push(Violation::Table(array, seen, index));
            }
            continue;
        }
        let first = *places.entry((array, index)).or_insert(seen);
        if first.value != seen.value {
            violations.push(Violation::Bytes(first, seen));
        }
    }
    places
}

/// Collects what is wrong with numbers; returns one term for each pair.
fn check_numbers(
    evaluator: &mut Evaluator<'_>,
    numbers: &[Seen],
    violations: &mut Vec<Violation>,
) -> HashMap<(u64, u64), Seen> {
    let mut pairs: HashMap<(u64, u64), Seen> = HashMap::new();
    let mut owners: HashMap<u64, Vec<Seen>> = HashMap::new();
    for &seen in numbers {
        let [a, b] = seen.operands.map(|operand| evaluator.value(operand));
        if let Some(&first) = pairs.get(&(a, b)) {
            if first.value != seen.value {
                violations.push(Violation::Numbers(first, seen));
            }
            continue;
        }
        pairs.insert((a, b), seen);
        // Other pairs have this number: it must differ from theirs, from all of them at once, or
        // Z3 would move them to another common number one by one.
        let class = owners.entry(seen.value).or_default();
        violations.extend(class.iter().take(MAX_CLASS).map(|&o| Violation::Numbers(o, seen)));
        class.push(seen);
    }
    pairs
}
