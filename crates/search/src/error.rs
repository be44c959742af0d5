//! Why a program cannot be searched: loops without a bound, size, and what lower layers cannot do.

use slowpath_exec::ExecError;
use slowpath_ir::FlowError;
use slowpath_smt::SolverError;
use slowpath_stop::Reason;
use thiserror::Error;

/// A program that cannot be analysed.
#[derive(Debug, Error)]
pub enum SearchError {
    /// The control flow cannot be unrolled.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The program cannot be executed symbolically.
    #[error("{0}")]
    Exec(ExecError),
    /// The solver failed.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// A loop without a derivable bound.
    #[error(
        "the loop at .{location} has no bound that the analysis can derive (not done after \
         {iterations} iterations); state one: --unroll N@.{location}"
    )]
    UnboundedLoop {
        /// First instruction of the loop's header.
        location: u32,
        /// Iterations laid out before giving up.
        iterations: u32,
    },
    /// A loop that makes the program too large.
    #[error(
        "the loop at .{location} makes the program larger than {nodes} blocks (after {iterations} \
         iterations); limit it: --unroll N@.{location}"
    )]
    LoopTooLarge {
        /// First instruction of the loop's header.
        location: u32,
        /// The limit.
        nodes: usize,
        /// Iterations laid out before giving up.
        iterations: u32,
    },
    /// Too large without any loop to blame.
    #[error("the unrolled program is larger than {nodes} blocks")]
    TooLarge {
        /// The limit.
        nodes: usize,
    },
    /// A limit for a loop that does not exist.
    #[error("there is no loop around .{location}, which --unroll names")]
    NoLoopAt {
        /// The instruction named.
        location: u32,
    },
    /// Stopped before it was done.
    #[error("{0}")]
    Stopped(Reason),
    /// A defect here.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<ExecError> for SearchError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Stopped(reason) => SearchError::Stopped(reason),
            other => SearchError::Exec(other),
        }
    }
}

impl SearchError {
    /// The instruction that the error is about.
    pub fn location(&self) -> Option<u32> {
        match *self {
            SearchError::UnboundedLoop { location, .. }
            | SearchError::LoopTooLarge { location, .. } => Some(location),
            SearchError::Exec(
                ExecError::UnknownRegion { insn } | ExecError::Undefined { insn, .. },
            ) => Some(insn),
            SearchError::Flow(FlowError::Irreducible { header, .. }) => Some(header),
            _ => None,
        }
    }
}
