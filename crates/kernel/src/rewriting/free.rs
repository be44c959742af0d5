//! Registers that inserted code can overwrite in front of each instruction: those that are dead,
//! and those that have no value on any path to it.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;

use super::registers::{Effect, Registers, effect};

/// Registers in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterState {
    /// Registers that can be overwritten.
    pub free: Registers,
    /// Registers that have a value on every path to the instruction, so they can be saved.
    pub set: Registers,
}

/// Returns the successors of the instruction at a slot, within its function.
pub fn successors(insns: &[Insn], slot: usize) -> Vec<usize> {
    let insn = &insns[slot];
    let falls = !matches!(insn, Insn::Exit | Insn::Jump { .. });
    let next = falls.then_some(slot + insn.slots());
    let reached = insn.jump_target(slot).into_iter().chain(next);
    reached.filter(|&slot| slot < insns.len()).collect()
}

/// Computes the free and the set registers in front of each slot.
pub fn before(program: &BpfProgram) -> Vec<RegisterState> {
    let insns = &program.insns;
    let effects: Vec<Effect> = insns.iter().map(effect).collect();
    let after: Vec<Vec<usize>> = (0..insns.len()).map(|slot| successors(insns, slot)).collect();
    let live = live(&effects, &after);
    let (some, every) = values(program, &effects, &after);
    let before = |slot: usize| RegisterState {
        free: Registers::ALL.without(live[slot].and(some[slot])),
        set: every[slot],
    };
    (0..insns.len()).map(before).collect()
}

/// Computes the live registers in front of each slot.
fn live(effects: &[Effect], after: &[Vec<usize>]) -> Vec<Registers> {
    let mut live = vec![Registers::NONE; effects.len()];
    loop {
        let mut changed = false;
        for slot in (0..effects.len()).rev() {
            let Effect { reads, writes, clobbers: ends } = effects[slot];
            let later = after[slot].iter().fold(Registers::NONE, |all, &next| all.or(live[next]));
            let now = later.without(writes.or(ends)).or(reads);
            changed |= now != live[slot];
            live[slot] = now;
        }
        if !changed {
            return live;
        }
    }
}

/// Computes the registers that have a value on some path to each slot, and those that have one on
/// every path.
fn values(
    program: &BpfProgram,
    effects: &[Effect],
    after: &[Vec<usize>],
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
            let Effect { writes, clobbers: ends, .. } = effects[slot];
            let step = |before: Registers| before.without(ends).or(writes);
            for &next in &after[slot] {
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
