//! Errors of solvers. A check that reaches a limit does not cause an error.

use slowpath_codes as codes;

/// A failure of a solver back end. A check that reaches a limit does not fail; its answer is
/// [`Outcome::Unknown`](crate::Outcome::Unknown).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolverError {
    /// An assumption is not a single bit.
    #[error("assumption {index} is {width} bits wide; a condition must have 1 bit")]
    NotACondition {
        /// Index of the assumption in the list of assumptions.
        index: usize,
        /// Width of the assumption in bits.
        width: u8,
    },
    /// The back end could not be set up.
    #[error("{backend} has no solver for {logic}; is a supported version installed?")]
    Unavailable {
        /// Name of the back end.
        backend: &'static str,
        /// SMT-LIB logic that the back end was asked to support.
        logic: &'static str,
    },
    /// The back end returned a model that violates an assumption. This is a defect of the back end
    /// or of the translation; the answer must not be used.
    #[error("internal error: {backend} returned a model that violates assumption {index} ({term})")]
    WrongModel {
        /// Name of the back end.
        backend: &'static str,
        /// Index of the assumption in the list of assumptions.
        index: usize,
        /// Text of the assumption, shortened.
        term: String,
    },
    /// Two compared solvers contradict each other, so one of them has a defect.
    #[error(
        "internal error: solvers disagree whether these conditions can hold together, the first \
         says {}:\n{conditions}",
        if *satisfiable { "yes" } else { "no" }
    )]
    Disagreement {
        /// True if the first solver found a model; false if it answered "unsatisfiable".
        satisfiable: bool,
        /// Conditions of the check, one per line.
        conditions: String,
    },
    /// The back end answered, but without required data such as a model.
    #[error("internal error: {backend} answered without {missing}")]
    Incomplete {
        /// Name of the back end.
        backend: &'static str,
        /// Description of the missing data.
        missing: &'static str,
    },
}

impl SolverError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            SolverError::Unavailable { .. } | SolverError::NotACondition { .. } => {
                codes::INTERNAL_ERROR
            }
            SolverError::WrongModel { .. }
            | SolverError::Disagreement { .. }
            | SolverError::Incomplete { .. } => codes::SOLVER_CONTRADICTION,
        }
    }
}
