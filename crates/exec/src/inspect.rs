//! What execution has found out: why a value depends on the path; and what is known behind a stretch
//! of one path: values of registers, what was stored, what memory holds.

use crate::executor::{Executor, PathVariable, SymbolicState};
use crate::facts::Facts;
use crate::index::{ArcId, NodeId};
use crate::memory::{Location, MemNode};
use slowpath_ir::{Reg, RegionId};
use slowpath_smt::{Node, TermId};
use std::collections::VecDeque;
use std::rc::Rc;

/// A store on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it went; `None` if the address does not show it.
    pub location: Option<Location>,
    /// How many bytes it wrote.
    pub bytes: u8,
    /// The instruction.
    pub insn: u32,
}

/// Something that a path has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where from; `None` if the address does not show it.
    pub location: Option<Location>,
    /// What; `None` if bytes were cleared.
    pub value: Option<TermId>,
    /// The instruction.
    pub insn: u32,
}

/// Why the value of a variable is not the same on every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying<'a> {
    /// States meet at `node`: it is what arrives over the arc that was taken.
    Merged {
        /// Where they meet.
        node: NodeId,
        /// The arcs that lead there, with the value over each.
        incoming: &'a [(ArcId, TermId)],
    },
    /// It was read from memory where only a path tells which store wrote it.
    Deferred,
}

impl Executor {
    /// Why a term is a variable whose value depends on the path; `None` for all other terms, such as
    /// inputs and what is drawn.
    pub fn varying(&self, term: TermId) -> Option<Varying<'_>> {
        let Node::Var(var) = *self.pool.node(term) else { return None };
        Some(match self.path_variables.get(&var)? {
            PathVariable::Phi { node, incoming } => Varying::Merged { node: *node, incoming },
            PathVariable::Deferred { .. } => Varying::Deferred,
        })
    }

    /// The value of a register behind the operations that were executed last: all of the prologue,
    /// or a whole block.
    pub fn register(&self, reg: Reg) -> Option<TermId> {
        self.regs[reg.index()]
    }

    /// The address of a region's first byte.
    pub fn base(&self, region: RegionId) -> Option<TermId> {
        self.bases[region.index()]
    }

    /// Where an address points, if the term shows it. Null does not count among choices.
    pub fn location(&mut self, address: TermId) -> Option<Location> {
        self.locate_access(address)
    }

    /// The stores on the way to a state, oldest first; `None` if several ways lead there, or bytes
    /// were cleared.
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

    /// The same, and what was cleared; `None` if several ways lead to the state.
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

    /// The value of `bytes` bytes of a region, little-endian, 1 to 8, as a term that may have to be
    /// resolved ([`crate::Resolver`]); `None` if the region has no address.
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

    /// The state where the given ones meet behind the end of the program, where no register is read
    /// any more; `node` is a number that no other node has.
    pub fn meet(&mut self, node: NodeId, incoming: &[(ArcId, SymbolicState)]) -> SymbolicState {
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

    /// What the next blocks draw ([`slowpath_ir::Op::Unknown`]), in order, instead of new unknowns,
    /// as far as it fits what is drawn.
    pub fn expect_draws(&mut self, terms: impl IntoIterator<Item = TermId>) {
        self.expected = terms.into_iter().collect::<VecDeque<TermId>>();
    }
}
