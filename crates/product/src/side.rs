//! One of the two programs that are compared, and its symbolic execution.

use slowpath_exec::concrete::Environment;
use slowpath_exec::{AllPaths, ExecError, Executor, NodeId, Resolver, Start, SymbolicState};
use slowpath_ir::{BlockId, Destination, InputId, InputKind, Program, RegionId, Terminator};
use slowpath_smt::TermId;
use std::rc::Rc;

/// One of the programs that are compared, and its symbolic execution. Both programs share one pool
/// of terms, which only one of them holds at a time ([`Executor::pool`]).
pub struct Side {
    /// The executor of the program.
    pub executor: Executor,
    /// Symbolic state after the program's prologue, before its first block.
    pub start: SymbolicState,
    /// Simplifies terms that symbolic execution left unresolved, such as loads, along one path.
    pub resolver: Resolver,
    /// Simplifies terms that symbolic execution left unresolved, on all joined paths together;
    /// `None` if each path is executed on its own.
    pub joined: Option<AllPaths>,
    /// Number of block executions and joins so far, which identifies the next execution or join.
    points: u32,
}

impl Side {
    /// Creates one side of a comparison: the program at its start, with the terms in `start`.
    ///
    /// # Errors
    /// If its prologue cannot be executed.
    pub fn new(program: Program, start: Start) -> Result<Self, ExecError> {
        let (executor, start) = Executor::from_start(Rc::new(program), start)?;
        Ok(Side { executor, start, resolver: Resolver::new(), joined: None, points: 0 })
    }

    /// Returns a new id, which identifies one execution of a block or one join of paths.
    pub(crate) fn new_point(&mut self) -> NodeId {
        let point = NodeId(self.points);
        self.points += 1;
        point
    }

    /// Returns the two successors of a block: first the target if its branch condition holds, then
    /// the target if it does not. After a jump, both are equal.
    pub(crate) fn targets(&self, block: BlockId) -> [Destination; 2] {
        match &self.executor.program().block(block).terminator {
            Terminator::Jump(edge) => [edge.target; 2],
            Terminator::Branch { taken, fallthrough, .. } => [taken.target, fallthrough.target],
        }
    }

    /// Returns the `bytes` bytes of a memory region from `offset` on, in the given state, as one
    /// term. The program must hold the term pool.
    ///
    /// # Errors
    /// The reason why the content is not known, in words.
    pub fn content(
        &mut self,
        state: &SymbolicState,
        region: RegionId,
        offset: TermId,
        bytes: u8,
    ) -> Result<TermId, String> {
        let none = || "a memory region has no address".to_owned();
        if let Some(joined) = &mut self.joined {
            let content = joined.content(&mut self.executor, state, region, offset, bytes);
            return content.map_err(|error| error.to_string())?.ok_or_else(none);
        }
        let content = self.executor.content(state, region, offset, bytes).ok_or_else(none)?;
        self.resolver.resolve(&mut self.executor, content).map_err(|error| error.to_string())
    }

    /// Returns the environment of a concrete run, in which memory holds zeros. `values` contains
    /// the values of all inputs; they are clamped to their limits, and addresses are left out. The
    /// run draws the values in `unknowns`.
    pub fn environment(&self, values: &[u64], unknowns: Vec<u64>) -> Environment {
        let program = self.executor.program();
        let mut environment = Environment::with_fill(program, 0);
        for (index, (input, &value)) in program.inputs.iter().zip(values).enumerate() {
            if !matches!(input.kind, InputKind::BaseAddress(_)) {
                let value = value.clamp(input.min, input.max);
                environment.inputs.insert(InputId::from(index), value);
            }
        }
        environment.unknowns = unknowns;
        environment
    }
}
