//! Dead code and dead stores: what computes what nothing reads, and what writes bytes of the stack
//! frame that nothing reads.

use super::liveness::{self, Held, Live};
use crate::analysis::{Analysis, Kind, State};
use crate::effect::{Effect, result};
use crate::fault::{self, Fault};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::{Call, Insn, Register, helper};

/// Removes dead instructions; whether there were any.
pub(crate) fn remove_dead_code(graph: &mut Graph, analysis: &mut Analysis<'_>) -> bool {
    let ends = liveness::at_ends(graph, analysis);
    let mut changed = false;
    for (block, mut live) in ends {
        // Whole states only of calls, which are few.
        let (mut before, mut calls) = (Vec::new(), Vec::new());
        analysis.walk(graph, block, |_, instr, state| {
            before.push(state.regs);
            calls.push(is_lookup(&instr.op).then(|| state.clone()));
        });
        let found = |state: &Option<State>| {
            state.as_ref().is_some_and(|state| analysis.lookup(state).is_some())
        };
        let unseen: Vec<bool> = calls.iter().map(found).collect();
        let insns = &graph.blocks[block].insns;
        if before.len() != insns.len() {
            continue;
        }
        if !fault::has(Fault::EndReadsNothing) {
            live.regs = live.regs.union(Effect::of_end(graph.blocks[block].end));
        }
        let mut kept = Vec::with_capacity(insns.len());
        for ((instr, held), unseen) in insns.iter().zip(&before).zip(unseen).rev() {
            if is_dead(instr, held, &live, unseen) {
                changed = true;
                continue;
            }
            live.before(instr, held);
            kept.push(*instr);
        }
        kept.reverse();
        graph.blocks[block].insns = kept;
    }
    changed
}

/// A call that finds an element of a map: nobody sees that it was made, but in maps that make room.
fn is_lookup(op: &Op) -> bool {
    matches!(op, Op::Insn(Insn::Call(Call::Helper(helper::MAP_LOOKUP_ELEM))))
}

fn is_dead(instr: &Instr, held: &Held, behind: &Live, unseen: bool) -> bool {
    if let Some(dst) = result(&instr.op) {
        return !behind.regs.contains(dst);
    }
    if unseen && !behind.regs.contains(Register::R0) {
        return true;
    }
    let Op::Insn(Insn::Store { size, base, offset, .. }) = instr.op else { return false };
    match held[usize::from(base.number())].kind {
        Kind::Stack(at) => !behind.any_of(at + i64::from(offset), size.bytes().into()),
        Kind::Packet { .. } => fault::has(Fault::PacketStoreDead),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
