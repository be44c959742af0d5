//! Finds instructions with a 32-bit result whose upper half must be set to zero, because a later
//! instruction reads 64 bits.
//!
//! The kernel's verifier passes this fact to the driver (`zext_dst`); its function `is_reg64`
//! defines reads of 64 bits. The analysis computes reaching definitions over the linked program.
//! After a call, `r6` to `r9` have the caller's definitions again.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Insn, Register, Size, Source, Width};
use slowpath_bpf::lift::RegisterValue;
use slowpath_stop::{Reason, Stop, Ticker};

use crate::codegen::facts::Facts;

/// Number of instructions that the analysis visits between two checks of the stop condition.
const SLOTS: u32 = 16;

/// For each of `r0` to `r9`, the indices of the instructions whose 32-bit result the register may
/// contain.
type Definitions = [BTreeSet<usize>; 10];

/// Results of the search for 32-bit results that are later read as 64 bits.
pub(in crate::codegen) struct ZeroExtension {
    /// Indices of instructions whose 32-bit result is later read as 64 bits.
    pub needed: BTreeSet<usize>,
    /// Indices of instructions whose destination register may contain, before they execute, a
    /// 32-bit result with a non-zero upper half.
    pub unextended: BTreeSet<usize>,
}

/// Finds the 32-bit results of a program that are later read as 64 bits. `facts` gives what the
/// kernel's verifier knows about each instruction, such as types of registers.
pub(in crate::codegen) fn analyze(
    program: &BpfProgram,
    facts: &dyn Facts,
    stop: &Stop,
) -> Result<ZeroExtension, Reason> {
    let mut analysis =
        Analysis { program, facts, entering: BTreeMap::new(), needed: BTreeSet::new() };
    let mut pending = BTreeSet::from([0]);
    analysis.entering.insert(0, Definitions::default());
    let mut ticker = Ticker::new(SLOTS);
    while let Some(slot) = pending.pop_first() {
        ticker.tick(stop)?;
        pending.extend(analysis.step(slot));
    }
    let unextended = analysis.unextended();
    Ok(ZeroExtension { needed: analysis.needed, unextended })
}

struct Analysis<'a> {
    program: &'a BpfProgram,
    facts: &'a dyn Facts,
    entering: BTreeMap<usize, Definitions>,
    needed: BTreeSet<usize>,
}

impl Analysis<'_> {
    fn unextended(&self) -> BTreeSet<usize> {
        let before = |(&slot, state): (&usize, &Definitions)| {
            let Some(Insn::Alu { dst, .. }) = self.program.insns.get(slot) else { return None };
            let definitions = state.get(usize::from(dst.number()))?;
            let bare =
                |definition: &usize| !self.needed.contains(definition) && !self.clears(*definition);
            definitions.iter().any(bare).then_some(slot)
        };
        self.entering.iter().filter_map(before).collect()
    }

    /// Returns true if the driver always sets the upper half of this instruction's result to zero.
    /// The result then needs no zero extension.
    fn clears(&self, slot: usize) -> bool {
        matches!(
            self.program.insns.get(slot),
            Some(Insn::Alu { op: AluOp::Mov, .. } | Insn::Swap { .. })
        )
    }

    /// Applies the instruction at index `slot` to the analysis state before it. Returns the indices
    /// of the instructions whose states have changed.
    fn step(&mut self, slot: usize) -> Vec<usize> {
        let (Some(&insn), Some(mut state)) =
            (self.program.insns.get(slot), self.entering.get(&slot).cloned())
        else {
            return Vec::new();
        };
        for (register, width) in self.reads(slot, insn) {
            if width == Width::W64
                && let Some(definitions) = state.get(usize::from(register.number()))
            {
                self.needed.extend(definitions);
            }
        }
        if let Some((register, width)) = self.writes(slot, insn)
            && let Some(definitions) = state.get_mut(usize::from(register.number()))
        {
            definitions.clear();
            if width == Width::W32 {
                definitions.insert(slot);
            }
        }
        let next = slot + insn.slots().max(1);
        let mut goals = Vec::new();
        match insn {
            Insn::Exit => goals.extend(self.leave(slot, &state)),
            Insn::Jump { .. } => goals.extend(insn.jump_target(slot).map(|to| (to, state))),
            Insn::Branch { .. } | Insn::MayGoto { .. } => {
                goals.extend(insn.jump_target(slot).map(|to| (to, state.clone())));
                goals.push((next, state));
            }
            Insn::Call(Call::Subprogram { .. }) => {
                if let Some(function) = insn.function_target(slot) {
                    let mut callee = Definitions::default();
                    callee[1..6].clone_from_slice(&state[1..6]);
                    goals.push((function, callee));
                }
                // Only results of exits reached so far; later visits of other exits add theirs.
                goals.extend(self.returned(slot, insn));
            }
            // A function that is not known to return may end with a call.
            _ if self.function(next) != self.function(slot) => {}
            _ => goals.push((next, state)),
        }
        goals.into_iter().filter_map(|(to, state)| self.enter(to, state)).collect()
    }

    /// Merges a state into the state at the entry of the instruction `slot`. Returns `slot` if this
    /// has changed anything.
    fn enter(&mut self, slot: usize, state: Definitions) -> Option<usize> {
        if !self.facts.is_live(slot) {
            return None;
        }
        let Some(known) = self.entering.get_mut(&slot) else {
            self.entering.insert(slot, state);
            return Some(slot);
        };
        let before: usize = known.iter().map(BTreeSet::len).sum();
        for (known, new) in known.iter_mut().zip(state) {
            known.extend(new);
        }
        let after: usize = known.iter().map(BTreeSet::len).sum();
        (after > before).then_some(slot)
    }

    /// Returns the index of the first instruction of the function that contains the given
    /// instruction.
    fn function(&self, slot: usize) -> usize {
        self.program.function_of(slot).map_or(0, |function| function.first)
    }

    /// Returns the analysis state after each call of the function whose return instruction is at
    /// index `exit`. `state` is the state at that return. Each returned state comes with the index
    /// of the instruction after the call.
    fn leave(&self, exit: usize, state: &Definitions) -> Vec<(usize, Definitions)> {
        let function = self.function(exit);
        let calls = self.program.insns.iter().enumerate().filter(|(at, insn)| {
            matches!(insn, Insn::Call(Call::Subprogram { .. }))
                && insn.function_target(*at) == Some(function)
        });
        let after_call = |(call, _): (usize, &Insn)| {
            let mut after = self.caller_registers(call)?;
            after[0].clone_from(&state[0]);
            Some((call + 1, after))
        };
        calls.filter_map(after_call).collect()
    }

    /// Returns the index of the instruction after the call at index `call`, with the analysis state
    /// there. The state combines all returns of the called function that the analysis has reached
    /// so far. Returns `None` if it has reached none.
    fn returned(&self, call: usize, insn: Insn) -> Option<(usize, Definitions)> {
        let function = insn.function_target(call)?;
        let mut after = self.caller_registers(call)?;
        let mut returns = false;
        for (slot, insn) in self.program.insns.iter().enumerate() {
            if *insn == Insn::Exit
                && self.function(slot) == function
                && let Some(state) = self.entering.get(&slot)
            {
                returns = true;
                after[0].extend(&state[0]);
            }
        }
        returns.then_some((call + 1, after))
    }

    /// Returns the 32-bit results that may be in the registers after a call. The sets of `r0` to
    /// `r5`, which calls do not preserve, are empty.
    fn caller_registers(&self, call: usize) -> Option<Definitions> {
        let mut state = self.entering.get(&call)?.clone();
        state[0..6].iter_mut().for_each(BTreeSet::clear);
        Some(state)
    }

    fn reads(&self, slot: usize, insn: Insn) -> Vec<(Register, Width)> {
        let reg = |source: Source, width| match source {
            Source::Reg(reg) => Some((reg, width)),
            Source::Imm(_) => None,
        };
        match insn {
            Insn::Alu { width, op, dst, src } => {
                let left = (op != AluOp::Mov).then_some((dst, width));
                left.into_iter().chain(reg(src, width)).collect()
            }
            Insn::Neg { width, dst } => vec![(dst, width)],
            Insn::MoveSigned { width, src, .. } => vec![(src, width)],
            Insn::Swap { size, dst, .. } => vec![(dst, swap_width(size))],
            Insn::Load { base, .. } | Insn::LoadAcquire { base, .. } => vec![(base, Width::W64)],
            Insn::Store { size, base, src, .. } => {
                let width = self.stored_width(slot, size, base, src);
                let value = reg(src, width);
                std::iter::once((base, Width::W64)).chain(value).collect()
            }
            Insn::StoreRelease { size, base, src, .. } => {
                let width = self.stored_width(slot, size, base, Source::Reg(src));
                vec![(base, Width::W64), (src, width)]
            }
            Insn::Atomic { width, base, src, .. } => vec![(base, Width::W64), (src, width)],
            Insn::LoadPacket { index, .. } => {
                index.map(|index| (index, Width::W64)).into_iter().collect()
            }
            Insn::Branch { width, dst, src, .. } => {
                std::iter::once((dst, width)).chain(reg(src, width)).collect()
            }
            Insn::Call(Call::Helper(number)) => {
                let arguments = 1..=self.facts.arguments(slot, number);
                arguments.filter_map(Register::new).map(|reg| (reg, Width::W64)).collect()
            }
            // The width of a function's result depends on its caller.
            Insn::Exit if self.function(slot) == 0 => vec![(Register::R0, Width::W64)],
            _ => Vec::new(),
        }
    }

    /// Returns the width with which a store reads its value. It is 64 bits if the value may be a
    /// pointer.
    fn stored_width(&self, slot: usize, size: Size, base: Register, src: Source) -> Width {
        let Source::Reg(src) = src else { return Width::W64 };
        let whole = size == Size::DW || self.facts.stores_whole(slot, base, src);
        if whole { Width::W64 } else { Width::W32 }
    }

    fn writes(&self, slot: usize, insn: Insn) -> Option<(Register, Width)> {
        match insn {
            Insn::Alu { width, dst, .. }
            | Insn::Neg { width, dst }
            | Insn::MoveSigned { width, dst, .. } => Some((dst, width)),
            Insn::Swap { size, dst, .. } => Some((dst, swap_width(size))),
            Insn::LoadImm64 { dst, .. } => Some((dst, Width::W64)),
            Insn::Load { size, dst, base, .. } | Insn::LoadAcquire { size, dst, base, .. } => {
                // Fields of the context are pointers.
                let value = self.facts.value(slot, base);
                let context = matches!(value, RegisterValue::Context { .. });
                let whole = size == Size::DW || context;
                Some((dst, if whole { Width::W64 } else { Width::W32 }))
            }
            Insn::LoadPacket { .. } => Some((Register::R0, Width::W32)),
            Insn::Atomic { op: AtomicOp::Cmpxchg, .. } => Some((Register::R0, Width::W64)),
            Insn::Atomic { op, src, .. } if op.fetches() => Some((src, Width::W64)),
            Insn::Call(Call::Helper(_) | Call::Kfunc { .. }) => Some((Register::R0, Width::W64)),
            _ => None,
        }
    }
}

fn swap_width(size: Size) -> Width {
    if size == Size::DW { Width::W64 } else { Width::W32 }
}
