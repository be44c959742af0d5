//! Errors in the search for facts about packets that leave a program.

use slowpath_bpf::lift::LiftError;
use slowpath_codes as codes;
use slowpath_exec::ExecError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use thiserror::Error;

/// Reason why no facts were found about the packets that leave a program.
#[derive(Debug, Error)]
pub enum FactsError {
    /// The program cannot be lifted, that is, translated to the intermediate representation.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// The program cannot be unrolled.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The program cannot be executed for all paths at once.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The solver contradicts itself.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// Some runs of the program are not analysed, so no fact is certain. The text is the reason.
    #[error("not all paths of the program were examined: {0}")]
    Unseen(String),
    /// The solver's terms cannot describe the packet that leaves the program. The text is the
    /// reason.
    #[error("{0}")]
    NotExpressible(String),
    /// The solver could not decide whether any packet leaves the program. The text is the reason.
    #[error("the solver cannot tell whether any packet leaves: {0}")]
    Undecided(String),
}

impl FactsError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            FactsError::Lift(error) => error.code(),
            FactsError::Search(error) => error.code(),
            FactsError::Exec(error) => error.code(),
            FactsError::Solver(error) => error.code(),
            FactsError::Unseen(_) | FactsError::NotExpressible(_) | FactsError::Undecided(_) => {
                codes::FACTS_NOT_FOUND
            }
        }
    }
}
