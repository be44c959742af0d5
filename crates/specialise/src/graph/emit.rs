//! Converts a control-flow graph back to instruction slots. It chooses an order of blocks with few
//! jumps, appends called functions, and computes jump distances.

use super::types::{BlockId, Emitted, End, FunctionId, Graph, Instr, Op};
use crate::error::SpecialiseError;
use crate::fault::{self, Fault};
use slowpath_bpf::insn::{Call, Imm64, Insn};
use slowpath_bpf::{BpfProgram, Subprogram};
use std::collections::BTreeMap;

/// Returns true if a block consists only of a jump to the unchanged copy of the original program,
/// which runs if a guard fails. Jumps to this block can then lead directly to the copy.
fn jumps_to_original(graph: &Graph, block: BlockId) -> bool {
    graph.blocks[block].insns.is_empty() && graph.blocks[block].end == End::Original
}

/// The target of a jump or call that was emitted, but whose distance is not known yet.
enum Relocation {
    Jump(BlockId),
    Function(FunctionId),
    Original,
}

#[derive(Default)]
struct Emitter {
    insns: Vec<Insn>,
    origins: Vec<usize>,
    open: Vec<(usize, Relocation)>,
    blocks: BTreeMap<BlockId, usize>,
    functions: BTreeMap<FunctionId, usize>,
    /// Functions to emit, in this order. A function is added to the list when the first call of it
    /// is emitted.
    called: Vec<FunctionId>,
    /// First slot of the copy of the original program; `None` if the copy is not emitted yet.
    original: Option<usize>,
}

impl Graph {
    /// Converts the graph to a linked program with all reachable blocks. Name, maps and other
    /// properties of the program are those of `original`.
    ///
    /// # Errors
    /// If a jump is longer than its instruction can express.
    pub fn emit(&self, original: &BpfProgram) -> Result<Emitted, SpecialiseError> {
        program(self, original)
    }
}

fn program(graph: &Graph, original: &BpfProgram) -> Result<Emitted, SpecialiseError> {
    let mut emitter = Emitter { called: vec![0], ..Emitter::default() };
    let mut next = 0;
    while let Some(&function) = emitter.called.get(next) {
        emitter.functions.insert(function, emitter.insns.len());
        if function == 0 {
            emitter.entry(graph);
        }
        // Functions of the program, except the entry function, are copied unchanged.
        if function > 0 || emitter.uses_original() {
            emitter.verbatim(graph, original, function)?;
        }
        next += 1;
    }
    emitter.resolve(original)?;
    let Emitter { insns, origins, functions, called, original: begins, .. } = emitter;
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
    Ok(Emitted { program, origins, original: begins })
}

impl Emitter {
    fn push(&mut self, insn: Insn, origin: usize) {
        self.insns.push(insn);
        self.origins.push(origin);
    }

    fn entry(&mut self, graph: &Graph) {
        let mut order = graph.order(0);
        order.reverse();
        while let Some(mut at) = order.pop() {
            // If a successor of the block is not emitted yet, it follows next.
            while !self.blocks.contains_key(&at) && !jumps_to_original(graph, at) {
                self.blocks.insert(at, self.insns.len());
                for instr in &graph.blocks[at].insns {
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
        self.open.push((open.0, Relocation::Function(open.1)));
        if !self.called.contains(&open.1) {
            self.called.push(open.1);
        }
    }

    /// Emits the jump, branch or exit at the end of a block. Returns the block that should be
    /// emitted next; `None` if any block can follow.
    fn end(&mut self, graph: &Graph, at: BlockId) -> Option<BlockId> {
        let origin = graph.blocks[at].origin;
        let (jump, next) = match graph.blocks[at].end {
            End::Exit => {
                self.push(Insn::Exit, origin);
                return None;
            }
            End::Original => {
                self.jump(Insn::Jump { offset: 0, long: false }, Relocation::Original, origin);
                return None;
            }
            End::Jump(next) => (None, next),
            End::Branch { test, taken, other } => {
                let (width, cond, dst, src) = (test.width, test.cond, test.dst, test.src);
                (Some((Insn::Branch { width, cond, dst, src, offset: 0 }, taken)), other)
            }
            End::MayGoto { taken, other } => (Some((Insn::MayGoto { offset: 0 }, taken)), other),
        };
        let target = |block| match jumps_to_original(graph, block) {
            true => Relocation::Original,
            false => Relocation::Jump(block),
        };
        if let Some((insn, taken)) = jump {
            self.jump(insn, target(taken), origin);
        }
        if self.blocks.contains_key(&next) || jumps_to_original(graph, next) {
            self.jump(Insn::Jump { offset: 0, long: false }, target(next), origin);
            return None;
        }
        Some(next)
    }

    fn jump(&mut self, insn: Insn, target: Relocation, origin: usize) {
        self.open.push((self.insns.len(), target));
        self.push(insn, origin);
    }

    /// Returns true if an emitted jump leads to the unchanged copy of the original program.
    fn uses_original(&self) -> bool {
        self.open.iter().any(|(_, open)| matches!(open, Relocation::Original))
    }

    /// Emits an unchanged function of the original program. Only the distances of calls are
    /// adapted.
    fn verbatim(
        &mut self,
        graph: &Graph,
        original: &BpfProgram,
        function: FunctionId,
    ) -> Result<(), SpecialiseError> {
        if function == 0 {
            self.original = Some(self.insns.len());
        }
        let first = graph.functions[function].0.first;
        let behind = original.subprograms.get(function + 1);
        let end = behind.map_or(original.insns.len(), |next| next.first);
        let lacks = function == 0 && fault::has(Fault::OriginalCut);
        for slot in first + usize::from(lacks)..end {
            let insn = original.insns[slot];
            if let Some(target) = insn.function_target(slot) {
                let known = graph.functions.iter().position(|(called, _)| called.first == target);
                let called = known.ok_or_else(|| {
                    SpecialiseError::at(original, slot, "a call of something other than a function")
                })?;
                self.open.push((self.insns.len(), Relocation::Function(called)));
                if !self.called.contains(&called) {
                    self.called.push(called);
                }
            }
            self.push(insn, slot);
        }
        Ok(())
    }

    /// Sets the distances of all emitted jumps and calls.
    fn resolve(&mut self, original: &BpfProgram) -> Result<(), SpecialiseError> {
        for (slot, open) in std::mem::take(&mut self.open) {
            let target = match open {
                Relocation::Jump(block) => self.blocks[&block],
                Relocation::Function(function) => self.functions[&function],
                Relocation::Original => {
                    let beyond = usize::from(fault::has(Fault::OriginalMissed));
                    self.original.unwrap_or_default() + beyond
                }
            };
            let distance = target as i64 - slot as i64 - 1;
            let far = || {
                let what = "the program becomes too long: a jump does not reach its target";
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
