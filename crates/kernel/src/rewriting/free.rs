//! Finds registers that code in front of an instruction can overwrite. These are dead registers,
//! and registers that have no value on any path to the instruction.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;

use super::registers::{Effect, Registers, effect};

/// State of the registers in front of an instruction, for code that is inserted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterState {
    /// Registers that inserted code can overwrite.
    pub free: Registers,
    /// Registers that have a value on every path to the instruction, so that they can be saved.
    pub set: Registers,
}

/// Returns the slots that can be executed next after the instruction at `slot`, in the same
/// function.
pub fn successors(insns: &[Insn], slot: usize) -> Vec<usize> {
    let insn = &insns[slot];
    let falls_through = !matches!(insn, Insn::Exit | Insn::Jump { .. });
    let next = falls_through.then_some(slot + insn.slots());
    let targets = insn.jump_target(slot).into_iter().chain(next);
    targets.filter(|&slot| slot < insns.len()).collect()
}

/// Computes for each slot which registers are free in front of it, and which ones have a value
/// there.
pub fn before(program: &BpfProgram) -> Vec<RegisterState> {
    let insns = &program.insns;
    let effects: Vec<Effect> = insns.iter().map(effect).collect();
    let successors: Vec<Vec<usize>> =
        (0..insns.len()).map(|slot| successors(insns, slot)).collect();
    let live = live(&effects, &successors);
    let (some, every) = values(program, &effects, &successors);
    let before = |slot: usize| RegisterState {
        free: Registers::ALL.without(live[slot].and(some[slot])),
        set: every[slot],
    };
    (0..insns.len()).map(before).collect()
}

/// Computes for each slot which registers are live in front of it: their values are read later.
fn live(effects: &[Effect], successors: &[Vec<usize>]) -> Vec<Registers> {
    let mut live = vec![Registers::NONE; effects.len()];
    loop {
        let mut changed = false;
        for slot in (0..effects.len()).rev() {
            let Effect { reads, writes, clobbers } = effects[slot];
            let later =
                successors[slot].iter().fold(Registers::NONE, |all, &next| all.or(live[next]));
            let now = later.without(writes.or(clobbers)).or(reads);
            changed |= now != live[slot];
            live[slot] = now;
        }
        if !changed {
            return live;
        }
    }
}

/// Computes two sets of registers for each slot: those that have a value on some path to the slot,
/// and those that have a value on every path to it.
fn values(
    program: &BpfProgram,
    effects: &[Effect],
    successors: &[Vec<usize>],
) -> (Vec<Registers>, Vec<Registers>) {
    let mut some = vec![Registers::NONE; effects.len()];
    let mut every = vec![Registers::ALL; effects.len()];
    for function in &program.subprograms {
        // A caller may leave some argument registers unset.
        some[function.first] = Registers::ARGUMENTS;
        every[function.first] = Registers::NONE;
    }
    (some[0], every[0]) = (Registers::CONTEXT, Registers::CONTEXT);
    loop {
        let mut changed = false;
        for slot in 0..effects.len() {
            let Effect { writes, clobbers, .. } = effects[slot];
            let step = |before: Registers| before.without(clobbers).or(writes);
            for &next in &successors[slot] {
                let joined = (some[next].or(step(some[slot])), every[next].and(step(every[slot])));
                changed |= joined != (some[next], every[next]);
                (some[next], every[next]) = joined;
            }
        }
        if !changed {
            return (some, every);
        }
    }
}
