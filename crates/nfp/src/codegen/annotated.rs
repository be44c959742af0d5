//! The program that is compiled: BPF instructions, each with the facts that the analyses found and
//! with what the optimisations decided for it, as the driver's `struct nfp_insn_meta` (`bpf/main.h`).

use std::collections::BTreeSet;

use slowpath_bpf::insn::{Insn, Register};
use slowpath_bpf::lift::{RegisterValue, Registers};
use slowpath_bpf::{BpfProgram, MapDef, Object};
use slowpath_stop::{Reason, Stop};

use super::access::memory_operand;
use super::analysis::bounds::{OperandBounds, RangeFacts};
use super::analysis::frames::{self, Function};
use super::analysis::{adjust_head, zero_extension};

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

/// An instruction of the program with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct AnnotatedInsn {
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
    pub bounds: OperandBounds,
    /// Whether the immediate of a jump has been negated.
    pub negated: bool,
    /// The memory copy that begins here.
    pub copy: Option<Copy>,
    /// Where the packet bytes that it loads come from, if it shares a read of them.
    pub cache: Option<PacketCache>,
}

/// A program as the passes and the emission see it.
pub(super) struct AnnotatedProgram<'a> {
    pub object: &'a Object,
    /// As it was given.
    pub linked: &'a BpfProgram,
    /// What registers hold.
    pub registers: &'a Registers,
    /// The slots that the verifier visits.
    live: BTreeSet<usize>,
    /// By slot.
    pub insns: Vec<AnnotatedInsn>,
    /// The main function first.
    pub functions: Vec<Function>,
    /// The slot of the one call of `bpf_xdp_adjust_head`, if it is made without a check.
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
        let extension = zero_extension::analyze(linked, registers, &live, stop)?;
        let insns = linked.insns.iter().enumerate().map(|(slot, &insn)| AnnotatedInsn {
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
        let insns = insns.collect();
        let functions = frames::functions(linked, registers, &live);
        let unchecked_head = adjust_head::unchecked(linked, &live, &bounds);
        Ok(AnnotatedProgram { object, linked, registers, live, insns, functions, unchecked_head })
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
        let (base, _) = memory_operand(&self.insns.get(slot)?.insn)?;
        Some(self.value(slot, base))
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
}

/// The slot that an instruction jumps to or calls.
fn target(slot: usize, insn: &Insn) -> Option<usize> {
    match insn {
        Insn::Call(_) => insn.function_target(slot),
        _ => insn.jump_target(slot),
    }
}
