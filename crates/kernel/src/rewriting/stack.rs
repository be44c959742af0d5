//! Finds free stack space of a program, below the data that it keeps there.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};

/// Lowest offset in bytes from the frame pointer in a stack frame.
pub const DEEPEST: i16 = -512;

/// Returns the lowest stack offset that the function which contains the slot may use, rounded down
/// to a multiple of 8. The stack below it is free. Programs add only constants to the frame
/// pointer, so no access is below the lowest of these constants.
pub fn free_stack_offset(program: &BpfProgram, slot: usize) -> i16 {
    let after = program.subprograms.partition_point(|f| f.first <= slot);
    let first = after.checked_sub(1).map_or(0, |n| program.subprograms[n].first);
    let end = program.subprograms.get(after).map_or(program.insns.len(), |f| f.first);
    let within = |imm: i32| i16::try_from(imm).ok().filter(|imm| *imm >= DEEPEST).unwrap_or(0);
    let constant = |insn: &Insn| match *insn {
        Insn::Load { base, offset, .. }
        | Insn::Store { base, offset, .. }
        | Insn::Atomic { base, offset, .. }
        | Insn::LoadAcquire { base, offset, .. }
        | Insn::StoreRelease { base, offset, .. }
            if base == Register::FRAME =>
        {
            offset
        }
        Insn::Alu { width: Width::W64, op: AluOp::Add, src: Source::Imm(imm), .. } => within(imm),
        Insn::Alu { width: Width::W64, op: AluOp::Sub, src: Source::Imm(imm), .. } => {
            within(imm.wrapping_neg())
        }
        _ => 0,
    };
    let lowest = program.insns[first..end].iter().map(constant).min().unwrap_or(0).min(0);
    lowest & !7
}
