//! Answers of the SAT solver.

/// The answer to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The relevant variables have a satisfying assignment; see [`Sat::value`](super::Sat::value).
    Satisfiable,
    /// The assumptions contradict each other; see [`Sat::failed`](super::Sat::failed).
    Contradiction,
    /// The stop condition held, or the effort was exhausted.
    Stopped,
}
