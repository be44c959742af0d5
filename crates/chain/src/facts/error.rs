//! Errors in the search for facts about the packets that a program passes on.

use slowpath_bpf::lift::LiftError;
use slowpath_exec::ExecError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use thiserror::Error;

/// Reason why there are no facts.
#[derive(Debug, Error)]
pub enum FactsError {
    /// The program cannot be lifted.
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
    /// Some runs are not analysed.
    #[error("not all of its runs are looked at: {0}")]
    Unseen(String),
    /// The packet that leaves cannot be expressed as a term.
    #[error("{0}")]
    NotExpressible(String),
    /// It is not known whether any packet leaves.
    #[error("the solver cannot tell whether any packet leaves: {0}")]
    Undecided(String),
}
