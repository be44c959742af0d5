//! Lazy Ackermann reduction. The engine treats two kinds of function applications as independent
//! unknowns: bytes read from arrays, and numbers that identify pairs of values
//! ([`TermPool::intern`]). Functional consistency between them is enforced only where a model of
//! the engine violates it (Brummayer and Biere, "Lemmas on demand for the extensional theory of
//! arrays", JSAT 2009):
//!
//! - bytes of an unconstrained array at equal indices are equal;
//! - the byte that is read from a table is the content of the table at the index;
//! - the numbers of two pairs are equal if and only if the pairs are equal.
//!
//! The check uses the engine's values of bytes, numbers and opaque terms, regardless of the values
//! of their subterms. Once no violation remains, nested applications are consistent as well.

use super::engine::{Engine, Lemma};
use super::session::Session;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Maximum length in bytes of a table whose whole content is asserted as soon as a model has a
/// wrong byte of it.
const MAX_TABLE: u64 = 1024;
/// For tables longer than `MAX_TABLE`, the base-2 logarithm of the maximum number of entries that
/// are asserted at once.
const MAX_WINDOW: u32 = 12;
/// Maximum number of lemmas that are added at once to separate one pair of values from other pairs
/// to which the model gives the same number.
const MAX_OTHERS: usize = 32;

/// A function application with the value that the engine chose for it: a byte of an array at an
/// index, or the number that identifies a pair of values ([`TermPool::intern`]).
#[derive(Clone, Copy)]
struct Application {
    term: TermId,
    operands: [TermId; 2],
    value: u64,
}

/// A violation of functional consistency (equal arguments give equal results) in a model.
enum Violation {
    /// Two bytes of one array differ, although their indices are equal.
    Bytes(Application, Application),
    /// A byte read from a table differs from the table's content at the index. The `u64` is this
    /// index.
    Table(ArrayId, Application, u64),
    /// Two equal pairs of values have different numbers, or two different pairs have the same
    /// number.
    Numbers(Application, Application),
}

impl<E: Engine> Session<E> {
    /// Converts the engine's model into a model of the terms. If bytes of arrays or numbers of
    /// interned pairs are inconsistent, adds lemmas that exclude the inconsistency and returns
    /// `None`.
    pub(super) fn consistent_model(
        &mut self,
        pool: &TermPool,
        leaves: &[TermId],
    ) -> Result<Option<Model>, SolverError> {
        let missing = SolverError::Incomplete { backend: E::NAME, missing: "a value" };
        let mut model = Model::new();
        let mut bytes: Vec<(ArrayId, Application)> = Vec::new();
        let mut numbers: Vec<Application> = Vec::new();
        let mut opaque: Vec<(TermId, u64)> = Vec::new();
        for &term in leaves {
            let value = self.engine.value(term).ok_or_else(|| missing.clone())?;
            match *pool.node(term) {
                Node::Var(var) => model.set_var(var, value),
                Node::Select { array, index } => {
                    bytes.push((array, Application { term, operands: [index, index], value }));
                }
                Node::Intern(a, b) => numbers.push(Application { term, operands: [a, b], value }),
                _ => opaque.push((term, value)),
            }
        }
        let mut violations = Vec::new();
        let (places, pairs) = {
            let leaves = bytes.iter().map(|(_, application)| application).chain(&numbers);
            let known =
                leaves.map(|application| (application.term, application.value)).chain(opaque);
            let mut evaluator = Evaluator::with_values(pool, &model, known);
            let places = check_bytes(pool, &mut evaluator, &bytes, &mut violations);
            (places, check_numbers(&mut evaluator, &numbers, &mut violations))
        };
        if violations.is_empty() {
            for ((array, index), application) in places {
                model.set_byte(array, index, application.value as u8);
            }
            for (pair, application) in pairs {
                model.set_interned(pair, application.value as u32);
            }
            return Ok(Some(model));
        }
        for violation in violations {
            self.exclude(pool, &violation);
        }
        Ok(None)
    }

    /// Adds the lemmas that exclude a violation from all later models.
    fn exclude(&mut self, pool: &TermPool, violation: &Violation) {
        match *violation {
            Violation::Bytes(a, b) => self.add_lemma(
                pool,
                Lemma::Bytes { indices: [a.operands[0], b.operands[0]], bytes: [a.term, b.term] },
            ),
            Violation::Numbers(a, b) => self.add_lemma(
                pool,
                Lemma::Numbers { pairs: [a.operands, b.operands], numbers: [a.term, b.term] },
            ),
            Violation::Table(array, application, index) => {
                self.add_table_lemmas(pool, array, application, index)
            }
        }
    }

    fn add_lemma(&mut self, pool: &TermPool, lemma: Lemma) {
        self.engine.add_lemma(pool, &mut self.view, lemma);
    }

    /// Tells the engine the content of a table: all of a short table, otherwise a window around the
    /// index `at`. The window grows with each wrong byte, so that the engine does not try all
    /// entries one by one.
    fn add_table_lemmas(
        &mut self,
        pool: &TermPool,
        array: ArrayId,
        application: Application,
        at: u64,
    ) {
        let Some(content) = pool.array_content(array) else { return };
        let length = content.len() as u64;
        let times = self.table_misses.entry(application.term).or_insert(0);
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
        let index = application.operands[0];
        let domain = pool.domain(index);
        let lemma =
            |first, last, value| Lemma::Table { index, first, last, byte: application.term, value };
        if (length <= MAX_TABLE || at >= length) && domain.hi() >= length {
            self.add_lemma(pool, lemma(length, u64::MAX, 0));
        }
        let told = (first..last).zip(&content[first as usize..last as usize]);
        // Runs of equal bytes. A run may span indices outside the domain, which do not matter.
        let mut runs: Vec<(u64, u64, u8)> = Vec::new();
        for (place, &value) in told.filter(|&(place, _)| domain.contains(place)) {
            match runs.last_mut() {
                Some((_, last, known)) if *known == value => *last = place,
                _ => runs.push((place, place, value)),
            }
        }
        for (first, last, value) in runs {
            self.add_lemma(pool, lemma(first, last, value));
        }
    }
}

/// Compares the model's bytes of arrays with each other and with the content of tables. Appends
/// inconsistencies to `violations`. Returns one representative byte for each index of an
/// unconstrained array.
fn check_bytes(
    pool: &TermPool,
    evaluator: &mut Evaluator<'_>,
    bytes: &[(ArrayId, Application)],
    violations: &mut Vec<Violation>,
) -> FastMap<(ArrayId, u64), Application> {
    let mut places: FastMap<(ArrayId, u64), Application> = FastMap::default();
    for &(array, application) in bytes {
        let index = evaluator.value(application.operands[0]);
        if let Some(content) = pool.array_content(array) {
            if u64::from(TermPool::table_byte(content, index)) != application.value {
                violations.push(Violation::Table(array, application, index));
            }
            continue;
        }
        let first = *places.entry((array, index)).or_insert(application);
        if first.value != application.value {
            violations.push(Violation::Bytes(first, application));
        }
    }
    places
}

/// Compares the model's numbers of interned pairs with each other. Appends inconsistencies to
/// `violations`. Returns, for each pair of values, its number.
fn check_numbers(
    evaluator: &mut Evaluator<'_>,
    numbers: &[Application],
    violations: &mut Vec<Violation>,
) -> FastMap<(u64, u64), Application> {
    let mut pairs: FastMap<(u64, u64), Application> = FastMap::default();
    let mut owners: FastMap<u64, Vec<Application>> = FastMap::default();
    for &application in numbers {
        let [a, b] = application.operands.map(|operand| evaluator.value(operand));
        if let Some(&first) = pairs.get(&(a, b)) {
            if first.value != application.value {
                violations.push(Violation::Numbers(first, application));
            }
            continue;
        }
        pairs.insert((a, b), application);
        // Lemmas distinguish the number from all these pairs at once. With one lemma at a time, the
        // engine might give the pairs one common number after another.
        let others = owners.entry(application.value).or_default();
        violations
            .extend(others.iter().take(MAX_OTHERS).map(|&o| Violation::Numbers(o, application)));
        others.push(application);
    }
    pairs
}
