//! The instructions of a BPF program with everything that the code generator knows of them, as the
//! driver's `struct nfp_insn_meta` (`bpf/main.h`).

use std::collections::BTreeSet;

use slowpath_bpf::insn::{Call, Insn, Register};
use slowpath_bpf::lift::{Offset, RegisterValue, Registers};
use slowpath_bpf::{BpfProgram, MapDef, Object};
use slowpath_stop::{Reason, Stop};

use super::bounds::{Bounds, Facts};
use super::zero_extension;

/// Packet bytes that a load shares with its neighbours (`pkt_cache` of the driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketCache {
    /// First byte behind the base register.
    pub start: i16,
    /// Behind the last byte.
    pub end: i16,
    /// Whether this load fetches them.
    pub fetches: bool,
}

/// A memory copy that begins with this load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// In bytes.
    pub length: u8,
    /// Whether the pairs went from the last to the first.
    pub descending: bool,
    /// Base register of the stores.
    pub to: Register,
    /// Lowest offset that is written, from that register.
    pub to_offset: i16,
}

/// An instruction of the program.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// As the optimisations have left it.
    pub insn: Insn,
    /// Whether nothing is emitted for it.
    pub skipped: bool,
    /// Where it jumps or calls, by slot.
    pub target: Option<usize>,
    /// Whether something jumps here, live or not.
    pub is_target: bool,
    /// Whether zeros are needed above its 32-bit result.
    pub zero_extends: bool,
    /// Whether there may be anything above a 32-bit result in its destination, before it.
    pub unextended: bool,
    /// What its operands can be.
    pub bounds: Bounds,
    /// Whether the immediate of a jump has been negated.
    pub negated: bool,
    pub copy: Option<Copy>,
    pub cache: Option<PacketCache>,
}

/// A function of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// Its first slot.
    pub first: usize,
    /// Bytes of stack, with what the call itself stores there.
    pub stack: u32,
    /// Whether it changes `r6` to `r9`, so that they are saved.
    pub saves_registers: bool,
}

/// A program as the passes and the translation see it.
pub(super) struct Plan<'a> {
    pub object: &'a Object,
    pub program: &'a BpfProgram,
    pub registers: &'a Registers,
    /// The slots that the verifier visits.
    live: BTreeSet<usize>,
    /// By slot.
    pub steps: Vec<Step>,
    /// The main function first.
    pub functions: Vec<Function>,
}

impl<'a> Plan<'a> {
    pub fn new(
        object: &'a Object,
        program: &'a BpfProgram,
        registers: &'a Registers,
        facts: Facts,
        stop: &Stop,
    ) -> Result<Self, Reason> {
        let Facts { live, bounds } = facts;
        let targets: BTreeSet<usize> =
            program.insns.iter().enumerate().filter_map(|(at, insn)| target(at, insn)).collect();
        let extension = zero_extension::analyze(program, registers, &live, stop)?;
        let steps = program.insns.iter().enumerate().map(|(slot, &insn)| Step {
            insn,
            skipped: !live.contains(&slot),
            target: target(slot, &insn),
            is_target: targets.contains(&slot),
            zero_extends: extension.needed.contains(&slot),
            unextended: extension.unextended.contains(&slot),
            bounds: bounds.get(&slot).copied().unwrap_or_default(),
            negated: false,
            copy: None,
            cache: None,
        });
        let steps = steps.collect();
        let mut plan = Plan { object, program, registers, live, steps, functions: Vec::new() };
        plan.functions = plan.functions();
        plan.drop_decided_jumps();
        Ok(plan)
    }

    /// Whether the verifier visits the instruction at a slot.
    pub fn is_live(&self, slot: usize) -> bool {
        self.live.contains(&slot)
    }

    /// What is known of a register before an instruction.
    pub fn value(&self, slot: usize, register: Register) -> RegisterValue {
        self.registers.before(slot, register.number())
    }

    /// What the base register of a memory access points to.
    pub fn base(&self, slot: usize) -> Option<RegisterValue> {
        Some(self.value(slot, base_register(&self.steps.get(slot)?.insn)?))
    }

    /// Whether the base register of a memory access points into the packet.
    pub fn accesses_packet(&self, slot: usize) -> bool {
        self.base(slot) == Some(RegisterValue::Packet)
    }

    pub fn map(&self, number: u32) -> Option<&'a MapDef> {
        self.object.maps.get(number as usize)
    }

    /// The function that a slot belongs to.
    pub fn function_of(&self, slot: usize) -> Function {
        let after = self.functions.partition_point(|function| function.first <= slot);
        let main = Function { first: 0, stack: 0, saves_registers: false };
        self.functions.get(after.saturating_sub(1)).copied().unwrap_or(main)
    }

    /// The driver drops what the verifier replaces by jumps to the next instruction, dead ones in
    /// between left out (`opt_hard_wire_dead_code_branches`, `opt_remove_dead_code`,
    /// `opt_remove_nops`).
    fn drop_decided_jumps(&mut self) {
        for slot in 0..self.steps.len() {
            let next = slot + 1;
            let goes_to_next = |target: Option<usize>| {
                target.is_some_and(|to| to > slot && (next..to).all(|slot| !self.is_live(slot)))
            };
            let target = self.steps[slot].target;
            let goes_on = match self.steps[slot].insn {
                Insn::Jump { .. } => goes_to_next(target),
                // Never taken, or always.
                Insn::Branch { .. } if self.is_live(next) => {
                    !target.is_some_and(|to| self.is_live(to))
                }
                Insn::Branch { .. } => goes_to_next(target),
                _ => false,
            };
            self.steps[slot].skipped |= goes_on;
        }
    }

    /// Stack use and saved registers of each function (`nfp_bpf_finalize` of the driver).
    fn functions(&self) -> Vec<Function> {
        /// Bytes of a return address.
        const RETURN: u32 = 4;
        /// Bytes of `r6` to `r9`.
        const SAVED: u32 = 32;
        let depths = self.stack_depths();
        let functions = self.program.subprograms.iter().enumerate().map(|(number, subprogram)| {
            let first = subprogram.first;
            let end = self.program.subprograms.get(number + 1);
            let end = end.map_or(self.program.insns.len(), |next| next.first);
            let insns = self.program.insns.get(first..end).unwrap_or_default();
            let saves_registers = insns.iter().any(names_saved_register);
            let depth = depths.get(&first).copied().unwrap_or(0);
            let call = if number == 0 {
                0
            } else if saves_registers {
                RETURN + SAVED
            } else {
                RETURN
            };
            Function { first, stack: depth + call, saves_registers }
        });
        functions.collect()
    }

    /// How deep each function's stack frame is used, in bytes, by first slot.
    fn stack_depths(&self) -> std::collections::BTreeMap<usize, u32> {
        let mut depths = std::collections::BTreeMap::new();
        for slot in (0..self.steps.len()).filter(|&slot| self.is_live(slot)) {
            let insn = &self.steps[slot].insn;
            let (registers, offset) = match *insn {
                Insn::Call(Call::Helper(number)) => (1..=super::helper::arguments(number), 0),
                _ => match (base_register(insn), access_offset(insn)) {
                    (Some(base), Some(offset)) => (base.number()..=base.number(), offset),
                    _ => continue,
                },
            };
            for register in registers {
                for (function, from) in self.registers.stack_frames(slot, register) {
                    let lowest = from.map_or(-512, |from| from.saturating_add(offset.into()));
                    let depth =
                        u32::try_from(lowest.saturating_neg().clamp(0, 1 << 20)).unwrap_or(0);
                    let deepest = depths.entry(function).or_insert(0);
                    *deepest = depth.max(*deepest);
                }
            }
        }
        depths
    }
}

/// The slot that an instruction jumps to or calls.
fn target(slot: usize, insn: &Insn) -> Option<usize> {
    match insn {
        Insn::Call(_) => insn.function_target(slot),
        _ => insn.jump_target(slot),
    }
}

/// The base register of a memory access.
pub(super) fn base_register(insn: &Insn) -> Option<Register> {
    match *insn {
        Insn::Load { base, .. }
        | Insn::Store { base, .. }
        | Insn::Atomic { base, .. }
        | Insn::LoadAcquire { base, .. }
        | Insn::StoreRelease { base, .. } => Some(base),
        _ => None,
    }
}

pub(super) fn access_offset(insn: &Insn) -> Option<i16> {
    match *insn {
        Insn::Load { offset, .. }
        | Insn::Store { offset, .. }
        | Insn::Atomic { offset, .. }
        | Insn::LoadAcquire { offset, .. }
        | Insn::StoreRelease { offset, .. } => Some(offset),
        _ => None,
    }
}

/// Whether the destination field of the instruction names `r6` to `r9`, even where that is the base
/// of a store: so the driver decides.
fn names_saved_register(insn: &Insn) -> bool {
    let dst = match *insn {
        Insn::Alu { dst, .. }
        | Insn::Neg { dst, .. }
        | Insn::MoveSigned { dst, .. }
        | Insn::Swap { dst, .. }
        | Insn::LoadImm64 { dst, .. }
        | Insn::Load { dst, .. }
        | Insn::LoadAcquire { dst, .. }
        | Insn::Branch { dst, .. } => dst,
        Insn::Store { base, .. } | Insn::Atomic { base, .. } | Insn::StoreRelease { base, .. } => {
            base
        }
        _ => return false,
    };
    (6..=9).contains(&dst.number())
}

/// The low register of the pair that holds a BPF register.
pub(super) fn pair(register: Register) -> u8 {
    2 * register.number()
}

/// The offset of a stack pointer, if it is one of constants.
pub(super) fn constant_offset(offset: Offset) -> Option<i64> {
    match offset {
        Offset::Constant(offset) | Offset::OneOf(offset) => Some(offset),
        Offset::Unknown => None,
    }
}
