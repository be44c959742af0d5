//! Dead code and dead stores: what computes what nothing reads, and what writes bytes of the stack
//! frame that nothing reads.

use super::liveness::{self, Live};
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
        let mut states = Vec::new();
        analysis.walk(graph, block, |_, _, state| states.push(state.clone()));
        let unseen: Vec<bool> = graph.blocks[block]
            .insns
            .iter()
            .zip(&states)
            .map(|(instr, state)| is_lookup(&instr.op) && analysis.lookup(state).is_some())
            .collect();
        let insns = &graph.blocks[block].insns;
        if states.len() != insns.len() {
            continue;
        }
        if !fault::has(Fault::EndReadsNothing) {
            live.regs = live.regs.union(Effect::of_end(graph.blocks[block].end));
        }
        let mut kept = Vec::with_capacity(insns.len());
        for ((instr, state), unseen) in insns.iter().zip(&states).zip(unseen).rev() {
            if is_dead(instr, state, &live, unseen) {
                changed = true;
                continue;
            }
            live.before(instr, state);
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

fn is_dead(instr: &Instr, state: &State, behind: &Live, unseen: bool) -> bool {
    if let Some(dst) = result(&instr.op) {
        return !behind.regs.contains(dst);
    }
    if unseen && !behind.regs.contains(Register::R0) {
        return true;
    }
    let Op::Insn(Insn::Store { size, base, offset, .. }) = instr.op else { return false };
    match state.reg(base).kind {
        Kind::Stack(at) => !behind.any_of(at + i64::from(offset), size.bytes().into()),
        Kind::Packet { .. } => fault::has(Fault::PacketStoreDead),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
