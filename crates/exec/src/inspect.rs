//! Provides results of symbolic execution to callers: registers, stores and memory content at the
//! end of a path, and the reasons why values depend on the path.

use crate::executor::{Executor, PathVariable, SymbolicState};
use crate::facts::Facts;
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemNode};
use slowpath_ir::{Reg, RegionId};
use slowpath_smt::{Node, TermId};
use std::collections::VecDeque;
use std::rc::Rc;

/// A store that a path executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Location to which the store writes; `None` if the term of the address does not show it.
    pub location: Option<Location>,
    /// Number of bytes written.
    pub bytes: u8,
    /// Number of the store instruction in the program.
    pub insn: u32,
}

/// A write that a path executes: a store, or an operation that sets bytes to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Location of the first byte written; `None` if the term of the address does not show it.
    pub location: Option<Location>,
    /// Stored value; `None` if the operation sets bytes to zero.
    pub value: Option<TermId>,
    /// Number of the instruction in the program.
    pub insn: u32,
}

/// The reason why the value of a variable depends on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying<'a> {
    /// Paths merge at `node`, and the value depends on the arc along which a path arrives.
    Merged {
        /// Node of the merge.
        node: NodeId,
        /// Arcs into the node, each with the value that arrives along it.
        incoming: &'a [(ArcId, TermId)],
    },
    /// The variable is the result of a load that may read from other stores or other regions on
    /// other paths.
    Deferred,
}

impl Executor {
    /// Returns the reason why the value of a variable depends on the path. Returns `None` for terms
    /// that do not depend on the path by themselves, such as inputs and results of
    /// [`slowpath_ir::Op::Unknown`].
    pub fn path_dependence(&self, term: TermId) -> Option<Varying<'_>> {
        let Node::Var(var) = *self.pool.node(term) else { return None };
        Some(match self.path_variables.get(&var)? {
            PathVariable::Phi { node, incoming } => Varying::Merged { node: *node, incoming },
            PathVariable::Deferred { .. } => Varying::Deferred,
        })
    }

    /// Returns the value of a register at the end of the prologue or block that was executed last.
    pub fn register(&self, reg: Reg) -> Option<TermId> {
        self.regs[reg.index()]
    }

    /// Returns the address of a region's first byte.
    pub fn base(&self, region: RegionId) -> Option<TermId> {
        self.bases[region.index()]
    }

    /// Returns the location to which an address points, if the term shows it. If the address is a
    /// choice between pointers, ignores null pointers.
    pub fn location(&mut self, address: TermId) -> Option<Location> {
        self.locate_access(address)
    }

    /// Returns the stores on the path to a state, oldest first. Returns `None` if several paths
    /// merge before the state, or if an operation on the path sets bytes to zero.
    pub fn stores(&self, state: &SymbolicState) -> Option<Vec<Stored>> {
        let mut stores = Vec::new();
        let mut memory = state.memory;
        loop {
            match *self.memory.node(memory) {
                MemNode::Initial => break,
                MemNode::Store { prev, location, value, insn, .. } => {
                    stores.push(Stored { location, bytes: self.pool.width(value) / 8, insn });
                    memory = prev;
                }
                MemNode::Clear { .. } | MemNode::Merge { .. } => return None,
            }
        }
        stores.reverse();
        Some(stores)
    }

    /// Returns the stores and the operations that set bytes to zero on the path to a state, oldest
    /// first. Returns `None` if several paths merge before the state.
    pub fn written(&self, state: &SymbolicState) -> Option<Vec<Written>> {
        let mut written = Vec::new();
        let mut memory = state.memory;
        loop {
            let (location, stored, insn);
            (location, stored, insn, memory) = match *self.memory.node(memory) {
                MemNode::Initial => break,
                MemNode::Store { prev, location, value, insn, .. } => {
                    (location, Some(value), insn, prev)
                }
                MemNode::Clear { prev, location, insn, .. } => (location, None, insn, prev),
                MemNode::Merge { .. } => return None,
            };
            written.push(Written { location, value: stored, insn });
        }
        written.reverse();
        Some(written)
    }

    /// Returns the value of `bytes` bytes (1 to 8, little-endian) of a region, starting at
    /// `offset`. The term may depend on the path; [`crate::Resolver`] then resolves it. Returns
    /// `None` if the region has no address.
    pub fn content(
        &mut self,
        state: &SymbolicState,
        region: RegionId,
        offset: TermId,
        bytes: u8,
    ) -> Option<TermId> {
        let base = self.bases[region.index()]?;
        let address = self.pool.add(base, offset);
        Some(self.load(state.memory, address, bytes))
    }

    /// Merges the states in which paths leave the program, where no register is live. `node` is the
    /// node of the merge: a new number that no other node has.
    pub fn merge_exits(
        &mut self,
        node: NodeId,
        incoming: &[(ArcId, SymbolicState)],
    ) -> SymbolicState {
        let facts: Vec<&Facts> = incoming.iter().map(|(_, state)| state.facts()).collect();
        let facts = Facts::join(&facts);
        let memory = match incoming {
            [(_, only)] => only.memory,
            _ => {
                let incoming = incoming.iter().map(|(arc, state)| (*arc, state.memory)).collect();
                self.memory.merge(node, incoming)
            }
        };
        SymbolicState { regs: Rc::default(), memory, facts }
    }

    /// Sets the values that the next [`slowpath_ir::Op::Unknown`] operations return, in order,
    /// instead of new unknowns. If the width or domain of a value does not fit an operation, the
    /// operation returns a new unknown.
    pub fn expect_draws(&mut self, terms: impl IntoIterator<Item = TermId>) {
        self.expected = terms.into_iter().collect::<VecDeque<TermId>>();
    }
}
