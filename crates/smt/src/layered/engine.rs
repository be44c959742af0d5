//! The interface between a [`Layered`](super::Layered) solver and the engine that decides its
//! conditions.

use super::budget::Budget;
use super::view::View;
use crate::error::SolverError;
use crate::pool::TermPool;
use crate::term::TermId;

/// Maximum effort of a check. Each engine counts its own steps, so results are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Effort of at most some tens of milliseconds.
    Quick,
    /// Effort of at most some seconds.
    Longer,
    Unlimited,
}

/// The answer of an engine to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineAnswer {
    /// All terms can hold; [`Engine::value`] returns the values of the unknowns.
    Sat,
    /// The terms at these indices of the check's list contradict each other.
    Unsat(Vec<usize>),
    /// The engine did not decide the check, for this reason.
    Unknown(String),
}

/// A constraint between unknowns that stand for bytes of arrays or for numbers of interned pairs.
/// It states that equal arguments give equal results (`ackermann`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lemma {
    /// If the indices are equal, the bytes are equal.
    Bytes { indices: [TermId; 2], bytes: [TermId; 2] },
    /// The numbers are equal if and only if both interned pairs of values are equal.
    Numbers { pairs: [[TermId; 2]; 2], numbers: [TermId; 2] },
    /// The byte has this value if the index lies in `first..=last`.
    Table { index: TermId, first: u64, last: u64, byte: TermId, value: u8 },
}

/// A decision procedure that treats bytes of arrays, numbers of interned pairs
/// ([`TermPool::intern`]) and opaque terms of a [`View`] as independent unknowns. Each unknown has
/// a value within the term's domain.
pub(crate) trait Engine: Sized {
    const NAME: &'static str;

    /// Creates a new engine with the same configuration.
    fn fork(&self) -> Result<Self, SolverError>;

    /// Limits the effort of each later check.
    fn set_effort(&mut self, effort: Effort);

    /// Decides whether all of `terms` can hold; each is a single bit and not constant. `leaves`
    /// lists all subterms that the engine treats as unknowns. The engine charges its steps to the
    /// budget and stops when the budget is exhausted.
    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError>;

    /// Returns the value of a term that the engine treats as an unknown, after the answer
    /// [`EngineAnswer::Sat`]. The value is valid until the next check or lemma.
    fn value(&self, leaf: TermId) -> Option<u64>;

    /// Adds a lemma: a constraint that the results of all later checks must respect.
    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma);

    /// Returns the number of distinct conditions that the engine has been asked about.
    fn conditions(&self) -> usize;
}
