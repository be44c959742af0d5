//! Searches for instructions that cannot be reached, whatever way conditional jumps take. The
//! kernel's verifier rejects programs with such instructions (`check_cfg` of
//! `kernel/bpf/verifier.c`).

use crate::BpfProgram;
use crate::insn::Insn;

/// Returns the slot of the first instruction that cannot be reached by jumps, calls or callbacks;
/// `None` if all can be reached.
pub(in crate::lift) fn unreachable(program: &BpfProgram) -> Option<usize> {
    let mut reached = vec![false; program.insns.len()];
    let mut pending = vec![0];
    while let Some(slot) = pending.pop() {
        match reached.get_mut(slot) {
            Some(seen) if !*seen => *seen = true,
            // The slot was visited already, or is beyond the end.
            _ => continue,
        }
        let insn = program.insns[slot];
        pending.extend(insn.jump_target(slot));
        pending.extend(insn.function_target(slot));
        if !matches!(insn, Insn::Exit | Insn::Jump { .. }) {
            pending.push(slot + insn.slots().max(1));
        }
    }
    let second = |slot: &usize| program.insns[*slot] != Insn::SecondSlot;
    (0..reached.len()).filter(second).find(|&slot| !reached[slot])
}
