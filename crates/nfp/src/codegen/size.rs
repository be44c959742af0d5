//! How long a program is at least on the card, told before it is compiled: what is far too long need
//! not be.

use std::collections::BTreeSet;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, Call, Insn, Source, Width};

use super::error::CompileError;

/// Programs that are longer than the firmware has room for by less than this factor are compiled all
/// the same: something else may be wrong with them that is worth saying.
const FAR: usize = 4;

/// Refuses a program that does not fit by far; `live` are the slots that the verifier visits, `room`
/// the instructions that the firmware has room for.
///
/// # Errors
/// [`CompileError`] with the least length.
pub(super) fn check(
    program: &BpfProgram,
    live: &BTreeSet<usize>,
    room: usize,
) -> Result<(), CompileError> {
    let least = least(program, live);
    if least > FAR * room { Err(too_large(&format!("at least {least}"), room)) } else { Ok(()) }
}

/// The program takes so many instructions, for which there is no room.
pub(super) fn too_large(length: &str, room: usize) -> CompileError {
    let what = format!("{length} instructions for the card; its firmware has room for {room}");
    CompileError::program(what, "make the program smaller")
}

/// Instructions that are emitted whatever is known about values: what optimisations can leave out
/// counts as none.
pub(super) fn least(program: &BpfProgram, live: &BTreeSet<usize>) -> usize {
    let both_ways = |slot: usize, insn: &Insn| {
        let target = insn.jump_target(slot);
        live.contains(&(slot + 1)) && target.is_some_and(|to| live.contains(&to))
    };
    let words = |width| if width == Width::W64 { 2 } else { 1 };
    let emitted = |&slot: &usize| match program.insns.get(slot) {
        Some(&Insn::Alu { width, op, dst, src }) => match (op, src) {
            // The context that programs save first.
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
