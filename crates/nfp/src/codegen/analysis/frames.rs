//! Computes the depth of each function's stack frame, and whether the function saves registers in
//! it (`nfp_bpf_finalize` of the driver).

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::Registers;

use crate::codegen::access::memory_operand;
use crate::codegen::helpers;

/// Size in bytes of the return address, which a called function stores in its stack frame.
const RETURN_ADDRESS: u32 = 4;
/// Size in bytes of `r6` to `r9`, which a called function saves in its stack frame.
const SAVED_REGISTERS: u32 = 32;
/// Lowest offset in a stack frame, in bytes from the frame pointer. An access at an unknown offset
/// is treated as an access at this offset.
const LOWEST: i64 = -512;

/// A function of the program being compiled, and its use of the stack.
#[derive(Clone, Copy, Debug)]
pub(in crate::codegen) struct Function {
    /// Index of the function's first instruction.
    pub first: usize,
    /// Size in bytes of the function's stack frame, including the return address and saved
    /// registers.
    pub stack: u32,
    /// True if the function changes some of `r6` to `r9`, so that these registers must be saved.
    pub saves_registers: bool,
}

/// Returns the functions of a program, with the main function first. `live` contains the indices of
/// the instructions that the kernel's verifier visits.
pub(in crate::codegen) fn functions(
    program: &BpfProgram,
    registers: &Registers,
    live: &BTreeSet<usize>,
) -> Vec<Function> {
    let depths = depths(program, registers, live);
    let functions = program.subprograms.iter().enumerate().map(|(number, subprogram)| {
        let first = subprogram.first;
        let end = program.subprograms.get(number + 1);
        let end = end.map_or(program.insns.len(), |next| next.first);
        let insns = program.insns.get(first..end).unwrap_or_default();
        let saves_registers = insns.iter().any(names_saved_register);
        let depth = depths.get(&first).copied().unwrap_or(0);
        let call = if number == 0 { 0 } else { bytes_for_calls(saves_registers) };
        Function { first, stack: depth + call, saves_registers }
    });
    functions.collect()
}

/// Returns the number of bytes that a called function's frame needs for the return address and the
/// saved registers.
pub(in crate::codegen) fn bytes_for_calls(saves_registers: bool) -> u32 {
    RETURN_ADDRESS + if saves_registers { SAVED_REGISTERS } else { 0 }
}

/// Returns the depth of each function's stack frame in bytes, by the index of the function's first
/// instruction.
fn depths(
    program: &BpfProgram,
    registers: &Registers,
    live: &BTreeSet<usize>,
) -> BTreeMap<usize, u32> {
    let mut depths = BTreeMap::new();
    for &slot in live {
        let Some(insn) = program.insns.get(slot) else { continue };
        // A helper may access memory from the address in its argument upwards.
        let (pointers, offset) = match *insn {
            Insn::Call(Call::Helper(number)) => (1..=helpers::arguments(number), 0),
            _ => match memory_operand(insn) {
                Some((base, offset)) => (base.number()..=base.number(), offset),
                None => continue,
            },
        };
        for pointer in pointers {
            for (function, from) in registers.stack_frames(slot, pointer) {
                let lowest = from.map_or(LOWEST, |from| from.saturating_add(offset.into()));
                let depth = u32::try_from(lowest.saturating_neg().clamp(0, 1 << 20)).unwrap_or(0);
                let deepest = depths.entry(function).or_insert(0);
                *deepest = depth.max(*deepest);
            }
        }
    }
    depths
}

/// Returns true if the destination field of the instruction names one of `r6` to `r9`, which calls
/// preserve. As in the driver, the base register of a store counts as destination.
pub(in crate::codegen) fn names_saved_register(insn: &Insn) -> bool {
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
