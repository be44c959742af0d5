//! One of the programs, and how far its execution is.

use slowpath_exec::{ExecError, Executor, Resolver, Start, SymbolicState};
use slowpath_ir::Program;
use std::rc::Rc;

/// A program and its execution. Terms are shared by exchanging [`Executor::pool`] between sides.
pub struct Side {
    /// What executes it.
    pub executor: Executor,
    /// Behind the prologue.
    pub start: SymbolicState,
    /// Looks through what execution has left open.
    pub resolver: Resolver,
    /// How many block instances were executed.
    pub(crate) points: u32,
}

impl Side {
    /// A program that starts from these terms.
    ///
    /// # Errors
    /// What its prologue cannot be executed for.
    pub fn new(program: Program, start: Start) -> Result<Self, ExecError> {
        let (executor, start) = Executor::from_start(Rc::new(program), start)?;
        Ok(Side { executor, start, resolver: Resolver::new(), points: 0 })
    }
}
