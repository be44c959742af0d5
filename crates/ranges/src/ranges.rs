//! Runs the analysis and returns its result: the reachable blocks and edges, and the values of
//! registers at the start of each block and before each instruction.

use std::sync::Arc;

use slowpath_domain::Domain;
use slowpath_ir::{BlockId, Destination, InsnIdx, Operand, Program, Reg, Terminator};

use slowpath_stop::{Reason, Stop};

use crate::entry::Entry;
use crate::fixpoint::solve;
use crate::options::{MemoryModel, Options, Setting};
use crate::state::AbstractState;

/// The result of the analysis for all blocks of a program.
#[derive(Clone, Debug)]
pub struct Ranges {
    entries: Vec<Option<Arc<Entry>>>,
    edges: Vec<[bool; 2]>,
    kept: Vec<Vec<Reg>>,
    widths: Vec<u8>,
    /// For each register, true if it is in [`Options::keep`].
    keep: Vec<bool>,
    memory: MemoryModel,
}

/// Analyses a well-formed program ([`Program::validate`]) with full precision. The result contains
/// values of a register only where the register is live.
pub fn analyze(program: &Program) -> Ranges {
    analyze_with(program, &Options::default())
}

/// Analyses a program with the given options.
pub fn analyze_with(program: &Program, options: &Options) -> Ranges {
    let ranges = analyze_until(program, options, &Stop::never());
    ranges.unwrap_or_else(|reason| unreachable!("nothing stops it: {reason}"))
}

/// Analyses a program with options; fails if `stop` triggers.
///
/// # Errors
/// Returns the reason if `stop` triggers.
pub fn analyze_until(program: &Program, options: &Options, stop: &Stop) -> Result<Ranges, Reason> {
    let solution = solve(program, options, stop)?;
    let mut keep = vec![false; program.regs.len()];
    options.keep.iter().for_each(|reg| keep[reg.index()] = true);
    Ok(Ranges {
        entries: solution.entries,
        edges: solution.edges,
        kept: solution.kept,
        widths: program.regs.iter().map(|info| info.width).collect(),
        keep,
        memory: options.memory,
    })
}

impl Ranges {
    /// Returns true if a run may reach the block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.entries[block.index()].is_some()
    }

    /// Returns true if an edge of the block may be taken; `edge` is its index in
    /// [`Terminator::edges`].
    pub fn edge_reachable(&self, block: BlockId, edge: usize) -> bool {
        self.edges[block.index()].get(edge).copied().unwrap_or(false)
    }

    /// Returns the possible values of a register at the start of the block, or `None` if the block
    /// is unreachable.
    pub fn on_entry(&self, block: BlockId, reg: Reg) -> Option<Domain> {
        let entry = self.entries[block.index()].as_ref()?;
        let position = entry.regs.binary_search_by_key(&reg, |&(reg, _)| reg);
        Some(match position {
            Ok(position) => entry.values[entry.regs[position].1 as usize].value.domain,
            Err(_) => Domain::full(self.widths[reg.index()]),
        })
    }

    pub(crate) fn memory(&self) -> MemoryModel {
        self.memory
    }

    /// Returns the abstract state at the start of the block, or `None` if the block is unreachable.
    pub(crate) fn state(&self, program: &Program, block: BlockId) -> Option<AbstractState> {
        Some(self.entries[block.index()].as_ref()?.state(program))
    }

    /// Calls `f` for each instruction of the block that has operations, in order. `f` gets the
    /// state before the first operation of the instruction. Does nothing for unreachable blocks.
    ///
    /// `program` must be the analysed program.
    pub fn walk(
        &self,
        program: &Program,
        block: BlockId,
        mut f: impl FnMut(InsnIdx, &AbstractState),
    ) {
        let Some(entry) = &self.entries[block.index()] else { return };
        let ops = &program.block(block).ops;
        let mut state = entry.state(program);
        let (dead, revived) = self.dead_at_start(program, block);
        state.dead = dead;
        let mut revived = revived.into_iter().rev().peekable();
        let setting = Setting { program, memory: self.memory };
        for (position, origin) in ops.iter().enumerate() {
            if position == 0 || ops[position - 1].insn != origin.insn {
                f(origin.insn, &state);
            }
            state.step(&setting, &origin.op);
            while let Some((_, reg, before)) = revived.next_if(|&(at, ..)| at == position) {
                state.dead[reg.index()] = before;
            }
        }
    }

    /// Returns a list with a flag for each register, which is true if its value is dead at the
    /// start of the block. Also returns the changes that the block's operations make to this list,
    /// the last operation first. A walk through the block updates the list with these changes.
    fn dead_at_start(&self, program: &Program, block: BlockId) -> (Vec<bool>, Vec<Change>) {
        let block = program.block(block);
        let mut dead: Vec<bool> = self.keep.iter().map(|keep| !keep).collect();
        for edge in block.terminator.edges() {
            if let Destination::Block(next) = edge.target {
                self.kept[next.index()].iter().for_each(|reg| dead[reg.index()] = false);
            }
        }
        if let Terminator::Branch { cond, .. } = block.terminator {
            dead[cond.index()] = false;
        }
        let mut changes = Vec::new();
        for (position, origin) in block.ops.iter().enumerate().rev() {
            let mut set = |reg: Reg, now: bool| {
                let before = std::mem::replace(&mut dead[reg.index()], now);
                if before != now {
                    changes.push((position, reg, before));
                }
            };
            if let Some(dst) = origin.op.dst() {
                set(dst, !self.keep[dst.index()]);
            }
            for operand in origin.op.operands() {
                if let Operand::Reg(reg) = operand {
                    set(reg, false);
                }
            }
        }
        (dead, changes)
    }
}

/// A change of liveness in a block: the index of an operation, a register, and a flag that is true
/// if the register is dead after the operation.
type Change = (usize, Reg, bool);
