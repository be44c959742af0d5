//! From blocks to slots: blocks in an order in which few jumps are needed, functions that are still
//! called, distances.

use super::{Block, BlockId, Emitted, End, FunctionId, Graph, Instr, Op};
use crate::error::SpecialiseError;
use slowpath_bpf::insn::{Call, Imm64, Insn};
use slowpath_bpf::{BpfProgram, Subprogram};
use std::collections::BTreeMap;

/// A block as the emitter numbers it: those of the program as it was written behind the others.
fn block(graph: &Graph, id: BlockId) -> &Block {
    match &graph.original {
        Some(original) if id >= graph.blocks.len() => &original.blocks[id - graph.blocks.len()],
        _ => &graph.blocks[id],
    }
}

/// How a block ends, with the emitter's numbers.
fn end(graph: &Graph, id: BlockId) -> End {
    let others = graph.blocks.len();
    let end = block(graph, id).end;
    match (&graph.original, end) {
        (Some(original), End::Original) => End::Jump(others + original.entry()),
        _ if id >= others => end.map(|to| to + others),
        _ => end,
    }
}

/// What is not known yet of an instruction that was written.
enum Open {
    Jump(BlockId),
    Function(FunctionId),
}

#[derive(Default)]
struct Emitter {
    insns: Vec<Insn>,
    origins: Vec<usize>,
    open: Vec<(usize, Open)>,
    blocks: BTreeMap<BlockId, usize>,
    functions: BTreeMap<FunctionId, usize>,
    /// Functions that are called, in the order in which they are written.
    called: Vec<FunctionId>,
}

pub(super) fn program(graph: &Graph, original: &BpfProgram) -> Result<Emitted, SpecialiseError> {
    let mut emitter = Emitter { called: vec![0], ..Emitter::default() };
    let mut next = 0;
    while let Some(&function) = emitter.called.get(next) {
        emitter.functions.insert(function, emitter.insns.len());
        emitter.function(graph, function);
        next += 1;
    }
    emitter.resolve(original)?;
    let Emitter { insns, origins, functions, called, .. } = emitter;
    let subprogram = |function: FunctionId| Subprogram {
        first: functions[&function],
        ..graph.functions[function].0.clone()
    };
    let line = |&origin: &usize| original.lines.get(origin).cloned().flatten();
    let program = BpfProgram {
        lines: origins.iter().map(line).collect(),
        insns,
        subprograms: called.into_iter().map(subprogram).collect(),
        unresolved: Vec::new(),
        ..original.clone()
    };
    Ok(Emitted { program, origins })
}

impl Emitter {
    fn push(&mut self, insn: Insn, origin: usize) {
        self.insns.push(insn);
        self.origins.push(origin);
    }

    fn function(&mut self, graph: &Graph, function: FunctionId) {
        let mut order = graph.order(function);
        let goes_back = order.iter().any(|&block| graph.blocks[block].end == End::Original);
        if let Some(original) = graph.original.as_ref().filter(|_| goes_back) {
            order.extend(original.order(0).into_iter().map(|block| graph.blocks.len() + block));
        }
        order.reverse();
        while let Some(mut at) = order.pop() {
            // Each block is followed by one that it leads to, while there is one left.
            while !self.blocks.contains_key(&at) {
                self.blocks.insert(at, self.insns.len());
                for instr in &block(graph, at).insns {
                    self.instr(instr);
                }
                let Some(next) = self.end(graph, at) else { break };
                at = next;
            }
        }
    }

    fn instr(&mut self, instr: &Instr) {
        let open = match instr.op {
            Op::Insn(insn) => {
                self.push(insn, instr.origin);
                if matches!(insn, Insn::LoadImm64 { .. }) {
                    self.push(Insn::SecondSlot, instr.origin);
                }
                return;
            }
            Op::Call(function) => {
                let slot = self.insns.len();
                self.push(Insn::Call(Call::Subprogram { offset: 0 }), instr.origin);
                (slot, function)
            }
            Op::Address(dst, function) => {
                let slot = self.insns.len();
                let value = Imm64::Function { offset: 0 };
                self.push(Insn::LoadImm64 { dst, value }, instr.origin);
                self.push(Insn::SecondSlot, instr.origin);
                (slot, function)
            }
        };
        self.open.push((open.0, Open::Function(open.1)));
        if !self.called.contains(&open.1) {
            self.called.push(open.1);
        }
    }

    /// Writes the end of a block; the block that comes next, if any.
    fn end(&mut self, graph: &Graph, at: BlockId) -> Option<BlockId> {
        let origin = block(graph, at).origin;
        let (jump, next) = match end(graph, at) {
            End::Exit | End::Original => {
                self.push(Insn::Exit, origin);
                return None;
            }
            End::Jump(next) => (None, next),
            End::Branch { test, taken, other } => {
                let (width, cond, dst, src) = (test.width, test.cond, test.dst, test.src);
                (Some((Insn::Branch { width, cond, dst, src, offset: 0 }, taken)), other)
            }
            End::Budget { taken, other } => (Some((Insn::MayGoto { offset: 0 }, taken)), other),
        };
        if let Some((insn, target)) = jump {
            self.open.push((self.insns.len(), Open::Jump(target)));
            self.push(insn, origin);
        }
        if self.blocks.contains_key(&next) {
            self.open.push((self.insns.len(), Open::Jump(next)));
            self.push(Insn::Jump { offset: 0, long: false }, origin);
            return None;
        }
        Some(next)
    }

    /// Fills in distances.
    fn resolve(&mut self, original: &BpfProgram) -> Result<(), SpecialiseError> {
        for (slot, open) in std::mem::take(&mut self.open) {
            let target = match open {
                Open::Jump(block) => self.blocks[&block],
                Open::Function(function) => self.functions[&function],
            };
            let distance = target as i64 - slot as i64 - 1;
            let far = || {
                let what = "the program gets too long: a jump does not reach its target";
                SpecialiseError::at(original, self.origins[slot], what)
            };
            let short = i16::try_from(distance);
            let wide = i32::try_from(distance);
            match &mut self.insns[slot] {
                Insn::Branch { offset, .. } | Insn::MayGoto { offset } => {
                    *offset = short.map_err(|_| far())?;
                }
                Insn::Jump { offset, long } => {
                    *offset = wide.map_err(|_| far())?;
                    *long = short.is_err();
                }
                Insn::Call(Call::Subprogram { offset })
                | Insn::LoadImm64 { value: Imm64::Function { offset }, .. } => {
                    *offset = wide.map_err(|_| far())?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
