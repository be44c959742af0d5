//! Builds the control-flow graph of a program from its instruction slots.

use super::types::{Block, BlockId, End, FunctionId, Graph, Instr, Op, Test};
use crate::error::SpecialiseError;
use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Imm64, Insn};
use std::collections::{BTreeMap, BTreeSet};

impl Graph {
    /// Builds the control-flow graph of a linked program.
    ///
    /// # Errors
    /// If a jump leaves the program (the kernel rejects it too), or a symbol is not resolved.
    pub fn of(program: &BpfProgram) -> Result<Graph, SpecialiseError> {
        graph(program)
    }
}

fn graph(program: &BpfProgram) -> Result<Graph, SpecialiseError> {
    let firsts = firsts(program)?;
    let ids: BTreeMap<usize, BlockId> = firsts.iter().enumerate().map(|(id, &s)| (s, id)).collect();
    let functions: BTreeMap<usize, FunctionId> =
        program.subprograms.iter().enumerate().map(|(id, function)| (function.first, id)).collect();
    let mut blocks = Vec::with_capacity(firsts.len());
    let mut starts = firsts.iter().copied().peekable();
    while let Some(first) = starts.next() {
        let end = starts.peek().copied().unwrap_or(program.insns.len());
        blocks.push(block(program, (first, end), &ids, &functions)?);
    }
    let entry = |function: &slowpath_bpf::Subprogram| {
        let first = ids.get(&function.first).copied();
        let outside =
            || SpecialiseError::at(program, function.first, "a function that does not exist");
        first.map(|first| (function.clone(), first)).ok_or_else(outside)
    };
    let functions = program.subprograms.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    if functions.is_empty() {
        return Err(SpecialiseError::at(program, 0, "a program without a function"));
    }
    Ok(Graph { blocks, functions })
}

/// Returns the first instruction slot of each basic block.
fn firsts(program: &BpfProgram) -> Result<BTreeSet<usize>, SpecialiseError> {
    let mut firsts: BTreeSet<usize> = program.subprograms.iter().map(|f| f.first).collect();
    for (slot, insn) in program.insns.iter().enumerate() {
        if let Some(what) = program.unresolved(slot) {
            return Err(SpecialiseError::at(program, slot, what));
        }
        if insn.jump_offset().is_some() {
            let target = insn.jump_target(slot).filter(|&target| {
                program.insns.get(target).is_some_and(|insn| *insn != Insn::SecondSlot)
            });
            let outside =
                || SpecialiseError::at(program, slot, "a jump to a place without an instruction");
            firsts.insert(target.ok_or_else(outside)?);
        }
        if insn.jump_offset().is_some() || *insn == Insn::Exit {
            firsts.insert(slot + 1);
        }
    }
    firsts.remove(&program.insns.len());
    Ok(firsts)
}

/// Builds the basic block that begins at slot `first` and ends before slot `end`.
fn block(
    program: &BpfProgram,
    (first, end): (usize, usize),
    ids: &BTreeMap<usize, BlockId>,
    functions: &BTreeMap<usize, FunctionId>,
) -> Result<Block, SpecialiseError> {
    let mut insns = Vec::new();
    let fault = |slot, what| SpecialiseError::at(program, slot, what);
    let at = |slot: usize| {
        let falls_out = || fault(slot.saturating_sub(1), "the program continues past its end");
        ids.get(&slot).copied().ok_or_else(falls_out)
    };
    for slot in first..end {
        let insn = program.insns[slot];
        let target = || {
            let target = insn.jump_target(slot).unwrap_or(usize::MAX);
            ids.get(&target).copied().ok_or_else(|| fault(slot, "a jump to where nothing is"))
        };
        let function = || {
            let target = insn.function_target(slot);
            let found = target.and_then(|target| functions.get(&target).copied());
            found.ok_or_else(|| fault(slot, "a call of something other than a function"))
        };
        let end = match insn {
            Insn::SecondSlot => continue,
            Insn::Jump { .. } => End::Jump(target()?),
            Insn::Branch { width, cond, dst, src, .. } => {
                let test = Test { width, cond, dst, src };
                End::Branch { test, taken: target()?, other: at(slot + 1)? }
            }
            Insn::MayGoto { .. } => End::MayGoto { taken: target()?, other: at(slot + 1)? },
            Insn::Exit => End::Exit,
            Insn::Call(Call::Subprogram { .. }) => {
                insns.push(Instr { op: Op::Call(function()?), origin: slot });
                continue;
            }
            Insn::LoadImm64 { dst, value: Imm64::Function { .. } } => {
                insns.push(Instr { op: Op::Address(dst, function()?), origin: slot });
                continue;
            }
            insn => {
                insns.push(Instr { op: Op::Insn(insn), origin: slot });
                continue;
            }
        };
        return Ok(Block { insns, end, origin: slot });
    }
    Ok(Block { insns, end: End::Jump(at(end)?), origin: end.saturating_sub(1) })
}
