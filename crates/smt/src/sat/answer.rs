//! Answers of the SAT solver.

/// The answer of the SAT solver to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The assumptions can hold; see [`Sat::value`](super::Sat::value) for the values of relevant
    /// variables.
    Satisfiable,
    /// The assumptions cannot hold together; see [`Sat::failed`](super::Sat::failed).
    Contradiction,
    /// The check ended undecided: the stop condition held, or the effort limit was reached.
    Stopped,
}
