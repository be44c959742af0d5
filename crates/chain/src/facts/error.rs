//! Errors in the search for facts about packets that leave a program.

use slowpath_bpf::lift::LiftError;
use slowpath_exec::ExecError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use thiserror::Error;

/// Reason why no facts were found.
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
    /// Some runs of the program are not analysed, for this reason.
    #[error("not all of its runs are looked at: {0}")]
    Unseen(String),
    /// The leaving packet cannot be expressed as a term.
    #[error("{0}")]
    NotExpressible(String),
    /// It could not be decided whether any packet leaves the program.
    #[error("the solver cannot tell whether any packet leaves: {0}")]
    Undecided(String),
}
