//! One of the programs, and how far its execution is.

use slowpath_exec::concrete::Environment;
use slowpath_exec::{AllPaths, ExecError, Executor, NodeId, Resolver, Start, SymbolicState};
use slowpath_ir::{BlockId, Destination, InputId, InputKind, Program, RegionId, Terminator};
use slowpath_smt::TermId;
use std::rc::Rc;

/// A program and its execution. Terms are shared by exchanging [`Executor::pool`] between sides.
pub struct Side {
    /// What executes it.
    pub executor: Executor,
    /// Behind the prologue.
    pub start: SymbolicState,
    /// Looks through what execution has left open.
    pub resolver: Resolver,
    /// Looks through what several ways have left open, where ways were joined.
    pub joined: Option<AllPaths>,
    /// How many block instances were executed, and how many times ways were joined.
    points: u32,
}

impl Side {
    /// A program that starts from these terms.
    ///
    /// # Errors
    /// What its prologue cannot be executed for.
    pub fn new(program: Program, start: Start) -> Result<Self, ExecError> {
        let (executor, start) = Executor::from_start(Rc::new(program), start)?;
        Ok(Side { executor, start, resolver: Resolver::new(), joined: None, points: 0 })
    }

    /// A number that no block instance has had so far.
    pub(crate) fn new_point(&mut self) -> NodeId {
        let point = NodeId(self.points);
        self.points += 1;
        point
    }

    /// Where control goes on behind a block: if its condition holds, and if not.
    pub(crate) fn targets(&self, block: BlockId) -> [Destination; 2] {
        match &self.executor.program().block(block).terminator {
            Terminator::Jump(edge) => [edge.target; 2],
            Terminator::Branch { taken, fallthrough, .. } => [taken.target, fallthrough.target],
        }
    }

    /// What a region holds in a state, in bytes. The program has to have the terms.
    ///
    /// # Errors
    /// Why that is not known, in words.
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

    /// What a concrete run starts from: its inputs have these values, but for addresses, and are
    /// within their limits; `unknowns` are drawn; memory holds zeros.
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
