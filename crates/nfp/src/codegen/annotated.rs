//! A BPF program while it is compiled. Each instruction is stored with the facts that analyses
//! found about it, and with the decisions of optimisations. The driver has `struct nfp_insn_meta`
//! (`bpf/main.h`) for this.

use std::collections::BTreeSet;

use slowpath_bpf::insn::{Insn, Register};
use slowpath_bpf::lift::{RegisterValue, Registers};
use slowpath_bpf::{BpfProgram, MapDef, Object};
use slowpath_stop::{Reason, Stop};

use super::analysis::bounds::{OperandBounds, RangeFacts};
use super::analysis::frames::{self, Function};
use super::analysis::{adjust_head, zero_extension};
use super::facts::LinkedFacts;

/// Range of packet bytes that one read fetches for several loads (`pkt_cache` of the driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketCache {
    /// Offset of the first byte of the range, relative to the base register.
    pub start: i16,
    /// Offset of the first byte after the range, relative to the base register.
    pub end: i16,
    /// True if this load reads the bytes from memory. The other loads of the range take them from
    /// the transfer registers that this load has filled.
    pub fetches: bool,
}

/// A memory copy that replaces a series of loads and stores, and starts at the first load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// Number of bytes that are copied.
    pub length: u8,
    /// True if the replaced loads and stores had descending offsets.
    pub descending: bool,
    /// Base register of the stores.
    pub to: Register,
    /// Lowest offset to which the copy writes, relative to `to`.
    pub to_offset: i16,
}

/// An instruction of the program, with the facts and decisions that the compiler has recorded about
/// it.
#[derive(Clone, Debug)]
pub(super) struct AnnotatedInsn {
    /// The BPF instruction, as the optimisations have changed it.
    pub insn: Insn,
    /// True if the compiler emits no code for the instruction.
    pub skipped: bool,
    /// Index of the instruction that this instruction jumps to or calls; `None` for other
    /// instructions.
    pub target: Option<usize>,
    /// True if another instruction is a jump to this one, even if that jump is never executed.
    pub is_target: bool,
    /// True if the upper half of the instruction's 32-bit result must be set to zero.
    pub zero_extends: bool,
    /// True if, before this instruction, its destination register may hold a 32-bit result with a
    /// non-zero upper half.
    pub unextended: bool,
    /// Possible values of the instruction's operands.
    pub bounds: OperandBounds,
    /// True if the negative constant of this comparison was replaced by its absolute value. The
    /// emitted code then adds the absolute value instead of subtracting the negative constant.
    pub negated: bool,
    /// The memory copy that starts at this instruction, if there is one.
    pub copy: Option<Copy>,
    /// The packet bytes that this load shares with other loads, if one read fetches them together.
    pub cache: Option<PacketCache>,
}

impl AnnotatedInsn {
    pub fn new(insn: Insn) -> Self {
        AnnotatedInsn {
            insn,
            skipped: false,
            target: None,
            is_target: false,
            zero_extends: false,
            unextended: false,
            bounds: OperandBounds::default(),
            negated: false,
            copy: None,
            cache: None,
        }
    }
}

/// A BPF program with annotations, on which the optimisation passes and the code generator work.
pub(super) struct AnnotatedProgram<'a> {
    pub object: &'a Object,
    /// The program before the optimisations.
    pub linked: &'a BpfProgram,
    /// Abstract values of the registers before each instruction.
    pub registers: &'a Registers,
    /// Indices of the instructions that the kernel's verifier visits.
    live: BTreeSet<usize>,
    /// The instructions, by their index in the program.
    pub insns: Vec<AnnotatedInsn>,
    /// The functions of the program. The main function comes first.
    pub functions: Vec<Function>,
    /// Index of the only call of `bpf_xdp_adjust_head`, if the card needs no check for it.
    pub unchecked_head: Option<usize>,
}

impl<'a> AnnotatedProgram<'a> {
    pub fn new(
        object: &'a Object,
        linked: &'a BpfProgram,
        registers: &'a Registers,
        facts: RangeFacts,
        stop: &Stop,
    ) -> Result<Self, Reason> {
        let RangeFacts { live, bounds } = facts;
        let targets: BTreeSet<usize> =
            linked.insns.iter().enumerate().filter_map(|(at, insn)| target(at, insn)).collect();
        let facts = LinkedFacts { registers, live: &live };
        let extension = zero_extension::analyze(linked, &facts, stop)?;
        let insns = linked.insns.iter().enumerate().map(|(slot, &insn)| AnnotatedInsn {
            skipped: !live.contains(&slot),
            target: target(slot, &insn),
            is_target: targets.contains(&slot),
            zero_extends: extension.needed.contains(&slot),
            unextended: extension.unextended.contains(&slot),
            bounds: bounds.get(&slot).copied().unwrap_or_default(),
            ..AnnotatedInsn::new(insn)
        });
        let insns = insns.collect();
        let functions = frames::functions(linked, registers, &live);
        let unchecked_head = adjust_head::unchecked(linked, &live, &bounds);
        Ok(AnnotatedProgram { object, linked, registers, live, insns, functions, unchecked_head })
    }

    /// Returns true if the kernel's verifier visits the instruction at this index.
    pub fn is_live(&self, slot: usize) -> bool {
        self.live.contains(&slot)
    }

    /// Returns the instructions for modification, together with the facts that the kernel's
    /// verifier knows about them.
    pub fn parts(&mut self) -> (&mut [AnnotatedInsn], LinkedFacts<'_>) {
        let facts = LinkedFacts { registers: self.registers, live: &self.live };
        (&mut self.insns, facts)
    }

    /// Returns the abstract value of a register before the instruction at this index.
    pub fn value(&self, slot: usize, register: Register) -> RegisterValue {
        self.registers.before(slot, register.number())
    }

    pub fn map(&self, number: u32) -> Option<&'a MapDef> {
        self.object.maps.get(number as usize)
    }

    /// Returns the function that contains the instruction at this index.
    pub fn function_of(&self, slot: usize) -> Function {
        let after = self.functions.partition_point(|function| function.first <= slot);
        let main = Function { first: 0, stack: 0, saves_registers: false };
        self.functions.get(after.saturating_sub(1)).copied().unwrap_or(main)
    }
}

/// Returns the index of the instruction that the instruction at `slot` jumps to or calls.
pub(super) fn target(slot: usize, insn: &Insn) -> Option<usize> {
    match insn {
        Insn::Call(_) => insn.function_target(slot),
        _ => insn.jump_target(slot),
    }
}
