//! What ties the unknowns that stand for bytes and numbers together, added only where a model of an
//! engine violates it (lazy Ackermann reduction):
//!
//! - bytes of an unconstrained array at equal indices are equal;
//! - the byte of a table is the one that the table holds at the index;
//! - numbers of pairs are equal exactly if the pairs are.
//!
//! All of this is judged by the values that the engine chose for the bytes, numbers and opaque terms
//! themselves, whatever they consist of: then it holds for nested ones too once no place is violated.

use super::engine::{Engine, Fact};
use super::session::Session;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Longest table that is asserted as a whole for a byte of it that was wrong once.
const MAX_TABLE: u64 = 1024;
/// Most places of a longer one that are told at once, as a power of two.
const MAX_WINDOW: u32 = 12;
/// Most terms with one wrong number of which each is told from each other at once.
const MAX_CLASS: usize = 32;

/// A byte with its index, or a number with its pair, as the engine has it.
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

impl<E: Engine> Session<E> {
    /// The engine's model in terms of the pool, or `None` when bytes or numbers of it contradict each
    /// other; then the facts that exclude this have been added.
    pub(super) fn consistent_model(
        &mut self,
        pool: &TermPool,
        leaves: &[TermId],
    ) -> Result<Option<Model>, SolverError> {
        let missing = SolverError::Incomplete { backend: E::NAME, missing: "a value" };
        let mut model = Model::new();
        let mut bytes: Vec<(ArrayId, Seen)> = Vec::new();
        let mut numbers: Vec<Seen> = Vec::new();
        let mut opaque: Vec<(TermId, u64)> = Vec::new();
        for &term in leaves {
            let value = self.engine.value(term).ok_or_else(|| missing.clone())?;
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

    /// Tells the engine what a model violated.
    fn exclude(&mut self, pool: &TermPool, violation: &Violation) {
        match *violation {
            Violation::Bytes(a, b) => self.tell(
                pool,
                Fact::Bytes { indices: [a.operands[0], b.operands[0]], bytes: [a.term, b.term] },
            ),
            Violation::Numbers(a, b) => self.tell(
                pool,
                Fact::Numbers { pairs: [a.operands, b.operands], numbers: [a.term, b.term] },
            ),
            Violation::Table(array, seen, index) => self.tell_table(pool, array, seen, index),
        }
    }

    fn tell(&mut self, pool: &TermPool, fact: Fact) {
        self.engine.tell(pool, &mut self.view, fact);
    }

    /// Tells what a table holds: everything, if it is short, else around `at`, more of it each
    /// time that a byte was wrong, or a search for a value would go through all places one by one.
    fn tell_table(&mut self, pool: &TermPool, array: ArrayId, seen: Seen, at: u64) {
        let Some(content) = pool.array_content(array) else { return };
        let length = content.len() as u64;
        let times = self.tabled.entry(seen.term).or_insert(0);
        let (first, last) = if length <= MAX_TABLE {
            if *times > 0 {
                return;
            }
            (0, length)
        } else {
            let size = 1 << *times;
            let first = at & !(size - 1);
            (first.min(length), first.saturating_add(size).min(length))
        };
        *times = (*times + 1).min(MAX_WINDOW);
        let index = seen.operands[0];
        let domain = pool.domain(index);
        let fact = |first, last, value| Fact::Table { index, first, last, byte: seen.term, value };
        if (length <= MAX_TABLE || at >= length) && domain.hi() >= length {
            self.tell(pool, fact(length, u64::MAX, 0));
        }
        let told = (first..last).zip(&content[first as usize..last as usize]);
        // Runs of the same byte: places between them are none that the index can have.
        let mut runs: Vec<(u64, u64, u8)> = Vec::new();
        for (place, &value) in told.filter(|&(place, _)| domain.contains(place)) {
            match runs.last_mut() {
                Some((_, last, known)) if *known == value => *last = place,
                _ => runs.push((place, place, value)),
            }
        }
        for (first, last, value) in runs {
            self.tell(pool, fact(first, last, value));
        }
    }
}

/// Collects what is wrong with bytes; returns those of unconstrained arrays by place.
fn check_bytes(
    pool: &TermPool,
    evaluator: &mut Evaluator<'_>,
    bytes: &[(ArrayId, Seen)],
    violations: &mut Vec<Violation>,
) -> FastMap<(ArrayId, u64), Seen> {
    let mut places: FastMap<(ArrayId, u64), Seen> = FastMap::default();
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
) -> FastMap<(u64, u64), Seen> {
    let mut pairs: FastMap<(u64, u64), Seen> = FastMap::default();
    let mut owners: FastMap<u64, Vec<Seen>> = FastMap::default();
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
        // the engine would move them to another common number one by one.
        let class = owners.entry(seen.value).or_default();
        violations.extend(class.iter().take(MAX_CLASS).map(|&o| Violation::Numbers(o, seen)));
        class.push(seen);
    }
    pairs
}
