//! Dead code and dead stores: what computes what nothing reads, and what writes bytes of the stack
//! frame that nothing reads.

use super::liveness::{self, Held, Live};
use crate::analysis::{Analysis, Kind};
use crate::effect::{Effect, result};
use crate::fault::{self, Fault};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::Insn;

/// Removes dead instructions; whether there were any.
pub(crate) fn remove_dead_code(graph: &mut Graph, analysis: &mut Analysis<'_>) -> bool {
    let ends = liveness::at_ends(graph, analysis);
    let mut changed = false;
    for (block, mut live) in ends {
        let mut before = Vec::new();
        analysis.walk(graph, block, |_, _, state| before.push(state.regs));
        let insns = &graph.blocks[block].insns;
        if before.len() != insns.len() {
            continue;
        }
        if !fault::has(Fault::EndReadsNothing) {
            live.regs = live.regs.union(Effect::of_end(graph.blocks[block].end));
        }
        let mut kept = Vec::with_capacity(insns.len());
        for (instr, held) in insns.iter().zip(&before).rev() {
            if is_dead(instr, held, &live) {
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

fn is_dead(instr: &Instr, held: &Held, behind: &Live) -> bool {
    if let Some(dst) = result(&instr.op) {
        return !behind.regs.contains(dst);
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
