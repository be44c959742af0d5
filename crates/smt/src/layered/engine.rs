//! What decides conditions at the bottom of a [`Layered`](super::Layered) solver: the part that is
//! different for every back end.

use super::budget::Budget;
use super::view::View;
use crate::error::SolverError;
use crate::pool::TermPool;
use crate::term::TermId;

/// How long to try. Measured in an engine's own steps, so that it is the same every time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Tens of milliseconds.
    Quick,
    /// Some seconds.
    Longer,
    Unlimited,
}

/// An engine's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineAnswer {
    /// There are values; see [`Engine::value`].
    Sat,
    /// The terms at these positions contradict each other.
    Unsat(Vec<usize>),
    /// Not decided, and why.
    Unknown(String),
}

/// What ties unknowns together that stand for bytes and numbers: an instance of functional
/// consistency (`ackermann`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lemma {
    /// Where the indices are equal, so are the bytes.
    Bytes { indices: [TermId; 2], bytes: [TermId; 2] },
    /// The numbers are equal exactly where both pairs of values are.
    Numbers { pairs: [[TermId; 2]; 2], numbers: [TermId; 2] },
    /// The byte for indices from `first` to `last`.
    Table { index: TermId, first: u64, last: u64, byte: TermId, value: u8 },
}

/// A decision procedure in which bytes of arrays, numbers of pairs, and what a [`View`] says is
/// opaque are independent unknowns, each within its domain.
pub(crate) trait Engine: Sized {
    /// What it is called in messages.
    const NAME: &'static str;

    /// Another engine, set up like this one, that knows nothing yet.
    fn another(&self) -> Result<Self, SolverError>;

    /// How long each further question is tried.
    fn set_effort(&mut self, effort: Effort);

    /// Whether all of `terms` (single bits, none of them constant) can hold. `leaves` are the
    /// unknowns, bytes, numbers and opaque terms that these consist of. Takes no more steps than
    /// there are in the budget, and spends those that it takes.
    fn decide(
        &mut self,
        pool: &TermPool,
        view: &mut View,
        terms: &[TermId],
        leaves: &[TermId],
        budget: &Budget,
    ) -> Result<EngineAnswer, SolverError>;

    /// After [`EngineAnswer::Sat`], until anything else is asked or told: the value of a leaf.
    fn value(&self, leaf: TermId) -> Option<u64>;

    /// Adds a lemma for all further questions.
    fn add_lemma(&mut self, pool: &TermPool, view: &mut View, lemma: Lemma);

    /// Distinct conditions seen so far.
    fn conditions(&self) -> usize;
}
