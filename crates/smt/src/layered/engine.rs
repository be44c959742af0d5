//! The engine interface: the part of a [`Layered`](super::Layered) solver that differs between back
//! ends.

use super::budget::Budget;
use super::view::View;
use crate::error::SolverError;
use crate::pool::TermPool;
use crate::term::TermId;

/// Effort limit of a check, counted in an engine's own steps to make results reproducible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Tens of milliseconds.
    Quick,
    /// Some seconds.
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

/// A constraint between unknowns that stand for bytes or numbers: an instance of functional
/// consistency (`ackermann`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lemma {
    /// Equal indices imply equal bytes.
    Bytes { indices: [TermId; 2], bytes: [TermId; 2] },
    /// The numbers are equal exactly if both pairs of values are.
    Numbers { pairs: [[TermId; 2]; 2], numbers: [TermId; 2] },
    /// The byte has this value if the index lies in `first..=last`.
    Table { index: TermId, first: u64, last: u64, byte: TermId, value: u8 },
}

/// A decision procedure in which bytes of arrays, numbers of pairs and opaque terms of a [`View`]
/// are independent unknowns, each within its domain.
pub(crate) trait Engine: Sized {
    /// Name of the engine in messages.
    const NAME: &'static str;

    /// Creates a new engine with the same configuration.
    fn fork(&self) -> Result<Self, SolverError>;

    /// Limits the effort of each further check.
    fn set_effort(&mut self, effort: Effort);

    /// Decides whether all of `terms` (single bits, not constant) can hold. `leaves` are the
    /// unknowns, bytes, numbers and opaque terms in `terms`. The engine charges its steps to the
    /// budget and stays within it.
    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError>;

    /// Returns the value of a leaf. Valid after [`EngineAnswer::Sat`] until the next check or
    /// lemma.
    fn value(&self, leaf: TermId) -> Option<u64>;

    /// Adds a lemma for all further checks.
    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma);

    /// Returns the number of distinct conditions seen so far.
    fn conditions(&self) -> usize;
}
