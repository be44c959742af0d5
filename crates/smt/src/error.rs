//! What can go wrong in a solver, as opposed to an answer.

/// A failure of a back end. An exhausted limit is not one: that is
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
    /// The back end answered that a model exists, but its model is none. A defect of the back end
    /// or of the translation; no result may be based on the answer.
    #[error("internal error: {backend} returned a model that violates assumption {index} ({term})")]
    WrongModel {
        /// Name of the back end.
        backend: &'static str,
        /// Position among the assumptions.
        index: usize,
        /// The assumption, shortened.
        term: String,
    },
    /// Two solvers that were compared contradict each other: a defect of one of them.
    #[error(
        "internal error: solvers disagree whether these conditions can hold together, the first \
         says {}:\n{conditions}",
        if *satisfiable { "yes" } else { "no" }
    )]
    Disagreement {
        /// Whether the first found a model.
        satisfiable: bool,
        /// What was asked, a condition a line.
        conditions: String,
    },
    /// The back end gave an answer without the model or value that belongs to it.
    #[error("internal error: {backend} answered without {missing}")]
    Incomplete {
        /// Name of the back end.
        backend: &'static str,
        /// What is missing.
        missing: &'static str,
    },
}
