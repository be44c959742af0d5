//! What came of a question.

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There is an assignment of the variables that matter; see [`Sat::value`](super::Sat::value).
    Satisfiable,
    /// The assumptions contradict each other; see [`Sat::failed`](super::Sat::failed).
    Contradiction,
    /// Stopped, or out of steps.
    Stopped,
}
