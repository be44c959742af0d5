//! Removes dead code and dead stores: instructions whose results are not used, and stores to bytes
//! of the stack frame that are never read.

use super::liveness::{self, Held, Live};
use crate::analysis::{Analysis, Kind, State};
use crate::effect::{Effect, result};
use crate::fault::{self, Fault};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::{Call, Insn, Register, helper};

/// Removes instructions without effect. Returns true if the graph changed.
pub(crate) fn remove_dead_code(graph: &mut Graph, analysis: &mut Analysis<'_>) -> bool {
    let ends = liveness::at_ends(graph, analysis);
    let mut changed = false;
    for (block, mut live) in ends {
        // Only calls need the whole state, and calls are few.
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

/// Returns true if the operation is a look-up with `bpf_map_lookup_elem`. It has no side effects,
/// except in LRU maps.
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
