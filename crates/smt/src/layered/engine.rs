//! The interface between a [`Layered`](super::Layered) solver and the engine that decides its
//! conditions.

use super::budget::Budget;
use super::view::View;
use crate::error::SolverError;
use crate::pool::TermPool;
use crate::term::TermId;

/// Limit for the effort of a check. Each engine counts its own steps, so results are reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Limit of some tens of milliseconds.
    Quick,
    /// Limit of some seconds.
    Longer,
    Unlimited,
}

/// The answer of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineAnswer {
    /// Satisfiable; [`Engine::value`] returns the values.
    Sat,
    /// Unsatisfiable: the terms at these positions contradict each other.
    Unsat(Vec<usize>),
    /// Undecided, with the reason.
    Unknown(String),
}

/// A constraint between unknowns that stand for bytes of arrays or for numbers of pairs: equal
/// arguments give equal results (`ackermann`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lemma {
    /// Equal indices imply equal bytes.
    Bytes { indices: [TermId; 2], bytes: [TermId; 2] },
    /// The numbers are equal if and only if both pairs of values are equal.
    Numbers { pairs: [[TermId; 2]; 2], numbers: [TermId; 2] },
    /// The byte has this value if the index lies in `first..=last`.
    Table { index: TermId, first: u64, last: u64, byte: TermId, value: u8 },
}

/// A decision procedure that treats bytes of arrays, numbers of pairs and opaque terms of a
/// [`View`] as independent unknowns. Each unknown lies within its domain.
pub(crate) trait Engine: Sized {
    /// Name of the engine in messages.
    const NAME: &'static str;

    /// Creates a new engine with the same configuration.
    fn fork(&self) -> Result<Self, SolverError>;

    /// Limits the effort of each later check.
    fn set_effort(&mut self, effort: Effort);

    /// Decides whether all of `terms` can hold; each is a single bit and not constant. `leaves`
    /// contains the unknowns, bytes, numbers and opaque terms in `terms`. The engine charges its
    /// steps to the budget and stops when the budget is exhausted.
    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError>;

    /// Returns the value of a leaf after the answer [`EngineAnswer::Sat`]. Valid until the next
    /// check or lemma.
    fn value(&self, leaf: TermId) -> Option<u64>;

    /// Adds a constraint that all later checks must respect.
    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma);

    /// Returns the number of distinct conditions that the engine has been asked about.
    fn conditions(&self) -> usize;
}
