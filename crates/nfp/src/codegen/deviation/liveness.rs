//! Decides whether a register is read later, and whether an instruction can be executed again.

use std::collections::BTreeSet;

use slowpath_bpf::insn::{Call, Insn, Register, Source};

use crate::codegen::annotated::AnnotatedProgram;
use crate::codegen::helpers;

/// Returns true if the instruction at index `slot`, or a later one of its function, may read the
/// value that `register` has before this instruction. Called functions are assumed to read all
/// their arguments. A return reads only `r0`.
pub(super) fn is_read(program: &AnnotatedProgram<'_>, slot: usize, register: Register) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![slot];
    while let Some(slot) = pending.pop() {
        if !program.is_live(slot) || !seen.insert(slot) {
            continue;
        }
        let insn = program.linked.insns[slot];
        if reads(insn, register) {
            return true;
        }
        if writes(insn, register) {
            continue;
        }
        pending.extend(successors(insn, slot));
    }
    false
}

/// Returns true if the instruction may be executed more than once during one call of its function.
pub(super) fn repeats(program: &AnnotatedProgram<'_>, slot: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<usize> = successors(program.linked.insns[slot], slot).collect();
    while let Some(next) = pending.pop() {
        if next == slot {
            return true;
        }
        if program.is_live(next) && seen.insert(next) {
            pending.extend(successors(program.linked.insns[next], next));
        }
    }
    false
}

/// Returns the indices of the instructions that can run directly after `insn`, the instruction at
/// index `slot`. A call counts as one step.
fn successors(insn: Insn, slot: usize) -> impl Iterator<Item = usize> {
    let (jump, next) = match insn {
        Insn::Exit => (None, None),
        Insn::Jump { .. } => (insn.jump_target(slot), None),
        Insn::Branch { .. } => (insn.jump_target(slot), Some(slot + 1)),
        _ => (None, Some(slot + insn.slots().max(1))),
    };
    jump.into_iter().chain(next)
}

fn is(source: Source, register: Register) -> bool {
    source == Source::Reg(register)
}

fn reads(insn: Insn, register: Register) -> bool {
    use slowpath_bpf::insn::AluOp::Mov;
    match insn {
        Insn::Alu { op, dst, src, .. } => (op != Mov && dst == register) || is(src, register),
        Insn::Neg { dst, .. } | Insn::Swap { dst, .. } => dst == register,
        Insn::Load { base, .. } => base == register,
        Insn::Store { base, src, .. } => base == register || is(src, register),
        Insn::Atomic { base, src, .. } => base == register || src == register,
        Insn::Branch { dst, src, .. } => dst == register || is(src, register),
        Insn::Call(Call::Helper(number)) => {
            (1..=helpers::arguments(number)).contains(&register.number())
        }
        Insn::Call(_) => (1..=5).contains(&register.number()),
        Insn::Exit => register == Register::R0,
        _ => false,
    }
}

fn writes(insn: Insn, register: Register) -> bool {
    match insn {
        Insn::Alu { dst, .. } | Insn::LoadImm64 { dst, .. } | Insn::Load { dst, .. } => {
            dst == register
        }
        Insn::Call(_) => register.number() <= 5,
        _ => false,
    }
}
