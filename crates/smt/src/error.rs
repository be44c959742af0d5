//! Failures of a solver, as opposed to answers.

/// A failure of a solver back end. An exhausted limit is an answer instead:
/// [`Outcome::Unknown`](crate::Outcome::Unknown).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    /// An assumption is not a single bit.
    #[error("assumption {index} is {width} bits wide; a condition must have 1 bit")]
    NotACondition {
        /// Position among the assumptions.
        index: usize,
        /// Its width in bits.
        width: u8,
    },
    /// The back end could not be set up.
    #[error("{backend} has no solver for {logic}; is a supported version installed?")]
    Unavailable {
        /// Name of the back end.
        backend: &'static str,
        /// The SMT-LIB logic asked for.
        logic: &'static str,
    },
    /// The back end returned a model that violates an assumption. This is a defect of the back end
    /// or of the translation; the answer must not be used.
    #[error("internal error: {backend} returned a model that violates assumption {index} ({term})")]
    WrongModel {
        /// Name of the back end.
        backend: &'static str,
        /// Position among the assumptions.
        index: usize,
        /// The assumption, shortened.
        term: String,
    },
    /// Two compared solvers contradict each other: a defect of one of them.
    #[error(
        "internal error: solvers disagree whether these conditions can hold together, the first \
         says {}:\n{conditions}",
        if *satisfiable { "yes" } else { "no" }
    )]
    Disagreement {
        /// True if the first solver found a model.
        satisfiable: bool,
        /// Conditions of the check, one per line.
        conditions: String,
    },
    /// The back end answered without the model or value that the answer requires.
    #[error("internal error: {backend} answered without {missing}")]
    Incomplete {
        /// Name of the back end.
        backend: &'static str,
        /// Missing part of the answer.
        missing: &'static str,
    },
}
