//! Why nothing is known of the packets that a program lets through.

use slowpath_bpf::lift::LiftError;
use slowpath_exec::ExecError;
use slowpath_search::SearchError;
use slowpath_smt::SolverError;
use thiserror::Error;

/// Why there are no facts.
#[derive(Debug, Error)]
pub enum FactsError {
    /// The program has no meaning here.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// It cannot be unrolled.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// It cannot be executed for all paths at once.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The solver contradicts itself.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// There are runs that are not looked at.
    #[error("not all of its runs are looked at: {0}")]
    Unseen(String),
    /// What leaves is no term.
    #[error("{0}")]
    NotExpressible(String),
    /// It is not known whether any packet leaves.
    #[error("the solver cannot tell whether any packet leaves: {0}")]
    Undecided(String),
}
