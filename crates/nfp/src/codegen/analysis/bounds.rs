//! Computes bounds of instruction operands by range analysis of the lifted program. The bounds
//! replace the values that the kernel's verifier passes to the driver: `umin_src`, `umax_src`,
//! `umin_dst` and `umax_dst` of `struct nfp_insn_meta`, and the known bits of operands of atomic
//! additions.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::helper::XDP_ADJUST_HEAD;
use slowpath_bpf::insn::{Call, Insn, Register, Source};
use slowpath_bpf::lift::{Lifted, RegisterValue, Registers};
use slowpath_ir::{BlockId, Reg};
use slowpath_ranges::{Domain, MemoryModel, Options, Ranges, analyze_until};
use slowpath_stop::{Reason, Stop};

/// The possible values of an instruction's two operands, over all paths to it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::codegen) struct OperandBounds {
    /// Values of the left operand, which is also the destination; `None` if they are unknown.
    pub dst: Option<Domain>,
    /// Values of the right operand; `None` if they are unknown.
    pub src: Option<Domain>,
}

impl OperandBounds {
    /// Returns the largest possible value of the left operand, or the largest 64-bit number if its
    /// values are unknown.
    pub fn dst_max(&self) -> u64 {
        self.dst.map_or(u64::MAX, |dst| dst.hi())
    }

    /// Returns the smallest and the largest possible value of the right operand.
    pub fn src(&self) -> (u64, u64) {
        self.src.map_or((0, u64::MAX), |src| (src.lo(), src.hi()))
    }
}

/// Results of the range analysis of a program: the reachable instructions, and bounds of their
/// operands.
pub(in crate::codegen) struct RangeFacts {
    /// Indices of the instructions that can be reached.
    pub live: BTreeSet<usize>,
    /// Possible operand values by instruction index, for instructions whose compiled code depends
    /// on them.
    pub bounds: BTreeMap<usize, OperandBounds>,
}

impl RangeFacts {
    pub fn of(
        program: &BpfProgram,
        lifted: &Lifted,
        registers: &Registers,
        stop: &Stop,
    ) -> Result<Self, Reason> {
        let names = RegisterNames::new(lifted);
        let keep: Vec<Reg> = names.regs.values().copied().collect();
        let undecided = pointer_comparisons(program, lifted, registers);
        let options = Options { memory: MemoryModel::Slots, keep: &keep, undecided: &undecided };
        let ranges = analyze_until(&lifted.program, &options, stop)?;
        let live = live(program, lifted, registers, &ranges);
        let bounds = bounds(program, lifted, registers, &ranges, &names);
        Ok(RangeFacts { live, bounds })
    }
}

/// Returns the indices of the instructions that the kernel's verifier visits.
fn live(
    program: &BpfProgram,
    lifted: &Lifted,
    registers: &Registers,
    ranges: &Ranges,
) -> BTreeSet<usize> {
    let mut live = BTreeSet::new();
    for block in (0..lifted.program.blocks.len()).map(BlockId::from) {
        if ranges.is_reachable(block) {
            let slots = lifted.program.block(block).insns.iter().map(|insn| insn.index());
            for slot in slots.filter(|&slot| registers.is_reached(slot)) {
                live.extend(slot..slot + program.insns.get(slot).map_or(0, Insn::slots));
            }
        }
    }
    live
}

/// Returns the basic blocks that end with a comparison of pointers. The analysis must keep both
/// branches of these comparisons, as the verifier does. Range analysis would decide some of them,
/// because it knows that pointers are not null.
fn pointer_comparisons(
    program: &BpfProgram,
    lifted: &Lifted,
    registers: &Registers,
) -> Vec<BlockId> {
    let blocks = lifted.program.blocks.iter().enumerate();
    let of_pointers = blocks.filter(|(_, block)| {
        let last = block.insns.last().map_or(0, |insn| insn.index());
        compares_pointers(program, registers, last)
    });
    of_pointers.map(|(number, _)| BlockId::from(number)).collect()
}

/// Returns true if the instruction at index `slot` is a branch that compares a value that may be a
/// pointer.
fn compares_pointers(program: &BpfProgram, registers: &Registers, slot: usize) -> bool {
    let Some(&Insn::Branch { dst, src, .. }) = program.insns.get(slot) else { return false };
    let pointer = |register: Register| {
        !matches!(
            registers.before(slot, register.number()),
            RegisterValue::Other | RegisterValue::Constant(_)
        )
    };
    pointer(dst) || matches!(src, Source::Reg(src) if pointer(src))
}

fn bounds(
    program: &BpfProgram,
    lifted: &Lifted,
    registers: &Registers,
    ranges: &Ranges,
    names: &RegisterNames,
) -> BTreeMap<usize, OperandBounds> {
    let mut found: BTreeMap<usize, OperandBounds> = BTreeMap::new();
    for block in (0..lifted.program.blocks.len()).map(BlockId::from) {
        if !ranges.is_reachable(block) {
            continue;
        }
        let depth = lifted.depths.get(block.index()).copied().unwrap_or(0);
        ranges.walk(&lifted.program, block, |insn, state| {
            let slot = insn.index();
            let Some((dst, src)) = program.insns.get(slot).and_then(operands) else { return };
            let value = |register: Register| match registers.before(slot, register.number()) {
                // Constants have no data flow in the lifted program.
                RegisterValue::Constant(value) => Some(Domain::constant(64, value)),
                _ => names.get(depth, register).map(|reg| state.value(reg)),
            };
            let dst = value(dst);
            let src = match src {
                Source::Reg(register) => value(register),
                Source::Imm(value) => Some(Domain::constant(64, i64::from(value) as u64)),
            };
            let join = |known: Option<Domain>, new: Option<Domain>| Some(known?.join(&new?));
            let new = OperandBounds { dst, src };
            let joined = found.get(&slot).map_or(new, |known| OperandBounds {
                dst: join(known.dst, dst),
                src: join(known.src, src),
            });
            found.insert(slot, joined);
        });
    }
    found
}

/// Returns the left and the right operand of an instruction; `None` if the compiler does not need
/// bounds of its operands.
fn operands(insn: &Insn) -> Option<(Register, Source)> {
    match *insn {
        Insn::Alu { dst, src, .. } => Some((dst, src)),
        Insn::Atomic { base, src, .. } => Some((base, Source::Reg(src))),
        Insn::Exit => Some((Register::R0, Source::Reg(Register::R0))),
        Insn::Call(Call::Helper(XDP_ADJUST_HEAD)) => {
            let distance = Register::new(2)?;
            Some((distance, Source::Reg(distance)))
        }
        _ => None,
    }
}

/// Finds the IR register that stands for a BPF register (`r0` to `r9`) in a lifted program, by its
/// name. Names of `r6` to `r9` in called functions contain the call depth.
struct RegisterNames {
    regs: BTreeMap<String, Reg>,
}

impl RegisterNames {
    fn new(lifted: &Lifted) -> Self {
        let numbered = |name: &str| {
            let number = name.strip_prefix('r').and_then(|rest| rest.chars().next());
            number.is_some_and(|digit| digit.is_ascii_digit())
        };
        let named = lifted.program.regs.iter().enumerate();
        let named = named.filter(|(_, reg)| numbered(&reg.name));
        RegisterNames { regs: named.map(|(at, reg)| (reg.name.clone(), Reg::from(at))).collect() }
    }

    fn get(&self, depth: u8, register: Register) -> Option<Reg> {
        let number = register.number();
        let name = match (depth, number) {
            (0, _) | (_, 0..=5) => format!("r{number}"),
            _ => format!("r{number}.{depth}"),
        };
        self.regs.get(&name).copied()
    }
}
