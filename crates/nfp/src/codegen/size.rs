//! Computes a lower bound of a program's length on the SmartNIC. Programs that exceed the limit by
//! far are rejected without compiling them.

use slowpath_codes as codes;
use std::collections::BTreeSet;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, Call, Insn, Source, Width};

use super::error::CompileError;

/// A program is rejected without compilation only if the lower bound of its length exceeds the
/// firmware's limit by this factor. Compilation of shorter programs may find other errors that are
/// worth reporting.
const REJECTION_FACTOR: usize = 4;

/// Rejects a program if it has more than [`REJECTION_FACTOR`] times the instructions that the
/// firmware can load (`room`). `live` contains the indices of the instructions that the kernel's
/// verifier visits.
///
/// # Errors
/// [`CompileError`] with the lower bound of the program's length.
pub(super) fn check(
    program: &BpfProgram,
    live: &BTreeSet<usize>,
    room: usize,
) -> Result<(), CompileError> {
    let least = lower_bound(program, live);
    if least > REJECTION_FACTOR * room {
        Err(too_large(&format!("at least {least}"), room))
    } else {
        Ok(())
    }
}

/// Returns the error for a program that has more instructions than the firmware can load (`room`).
/// `length` is the number of instructions as text, such as `at least 20000`.
pub(super) fn too_large(length: &str, room: usize) -> CompileError {
    let what = format!("{length} instructions for the card; its firmware has room for {room}");
    CompileError::program(codes::CARD_TOO_LARGE, what, "make the program smaller")
}

/// Returns a lower bound of the number of instructions that the compiler emits. It holds for all
/// possible values of operands. Instructions that optimisations may remove do not count.
pub(super) fn lower_bound(program: &BpfProgram, live: &BTreeSet<usize>) -> usize {
    let both_ways = |slot: usize, insn: &Insn| {
        let target = insn.jump_target(slot);
        live.contains(&(slot + 1)) && target.is_some_and(|to| live.contains(&to))
    };
    let words = |width| if width == Width::W64 { 2 } else { 1 };
    let emitted = |&slot: &usize| match program.insns.get(slot) {
        Some(&Insn::Alu { width, op, dst, src }) => match (op, src) {
            // Moves that may emit nothing, such as the saving of the context.
            (AluOp::Mov, Source::Reg(src)) if src.number() == 1 || src == dst => 0,
            (AluOp::Mov, _) => 2,
            (AluOp::Add | AluOp::Sub, _) => words(width),
            (AluOp::And | AluOp::Or | AluOp::Xor, Source::Reg(_)) => words(width),
            _ => 0,
        },
        Some(Insn::LoadImm64 { .. }) => 2,
        Some(insn @ Insn::Branch { .. }) => usize::from(both_ways(slot, insn)),
        Some(Insn::Exit | Insn::Call(Call::Subprogram { .. })) => 1,
        _ => 0,
    };
    live.iter().map(emitted).sum()
}
