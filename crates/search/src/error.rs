//! Errors of the search: loops without a bound, programs that are too large, and errors of
//! execution and solver.

use slowpath_codes as codes;
use slowpath_exec::ExecError;
use slowpath_ir::FlowError;
use slowpath_smt::SolverError;
use slowpath_stop::Reason;
use thiserror::Error;

/// A reason why a program cannot be analysed.
#[derive(Debug, Error)]
pub enum SearchError {
    /// The control-flow graph has a form that cannot be unrolled.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The program cannot be executed symbolically.
    #[error("{0}")]
    Exec(ExecError),
    /// The solver failed.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// The analysis cannot derive a bound of a loop.
    #[error(
        "the loop at .{location} has no bound that the analysis can derive (not done after \
         {iterations} iterations); state one: --unroll N@.{location}"
    )]
    UnboundedLoop {
        /// Index of the first instruction in the loop's header.
        location: u32,
        /// Number of iterations unrolled before giving up.
        iterations: u32,
    },
    /// Unrolling a loop makes the program too large.
    #[error(
        "the loop at .{location} makes the program larger than {nodes} blocks (after {iterations} \
         iterations); limit it: --unroll N@.{location}"
    )]
    LoopTooLarge {
        /// Index of the first instruction in the loop's header.
        location: u32,
        /// Maximum number of blocks in an unrolled program.
        nodes: usize,
        /// Number of iterations that were unrolled before giving up.
        iterations: u32,
    },
    /// The program is too large, even without loops.
    #[error("the unrolled program is larger than {nodes} blocks")]
    TooLarge {
        /// Maximum number of blocks in an unrolled program.
        nodes: usize,
    },
    /// The user limits a loop at an instruction that is not part of any loop.
    #[error(".{location} is not in a loop, but --unroll names it")]
    NoLoopAt {
        /// Index of the instruction, which is outside of all loops.
        location: u32,
    },
    /// The stop condition became true before the analysis was complete.
    #[error("{0}")]
    Stopped(Reason),
    /// An internal error: a defect of this crate.
    #[error("internal error: {0}")]
    Internal(String),
}

impl SearchError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            SearchError::Flow(error) => error.code(),
            SearchError::Exec(error) => error.code(),
            SearchError::Solver(error) => error.code(),
            SearchError::UnboundedLoop { .. } => codes::UNBOUNDED_LOOP,
            SearchError::LoopTooLarge { .. } => codes::LOOP_TOO_LARGE,
            SearchError::TooLarge { .. } => codes::PROGRAM_TOO_LARGE,
            SearchError::NoLoopAt { .. } => codes::NO_LOOP_THERE,
            SearchError::Stopped(reason) => reason.code(),
            SearchError::Internal(_) => codes::INTERNAL_ERROR,
        }
    }
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
    /// Returns the index of the instruction that the error refers to, if there is one.
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
