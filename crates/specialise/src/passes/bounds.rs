//! Merges bounds checks on packet pointers. If facts say that packets are long enough for a later
//! check, the first check also tests for the length of the later check. So the first check already
//! gives the kernel's verifier the knowledge of the later one.
//!
//! For each pointer, the verifier records how many bytes a check has proved
//! (`find_good_pkt_pointers` of `kernel/bpf/verifier.c`). A check counts for all pointers that
//! exist at the check, and for pointers computed from them. It does not count for pointers that the
//! program reads from the context later.

use super::liveness;
use crate::analysis::{Analysis, Kind, bounds_check};
use crate::effect::{Effect, Registers};
use crate::fault::{self, Fault};
use crate::graph::{BlockId, End, Graph, Instr, Op, Test};
use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};

/// A bounds check that all packets pass.
struct Check {
    block: BlockId,
    offset: i64,
    /// True if this is the first check that proves a length for any packet pointer.
    first: bool,
}

/// Extends bounds checks if all packets are known to be long enough. The first check on each path
/// then requires the length of the largest later check. Returns true if the graph changed.
pub(crate) fn merge_bounds_checks(graph: &mut Graph, analysis: &mut Analysis<'_>) -> bool {
    let mut checks = Vec::new();
    for block in graph.order(0) {
        let End::Branch { test, taken, other } = graph.blocks[block].end else { continue };
        let Some(state) = analysis.walk(graph, block, |_, _, _| ()) else { continue };
        let src = analysis.operand(&state, &test);
        let Some(check) = bounds_check(&test, state.reg(test.dst), &src) else { continue };
        // The known length must follow from facts and earlier checks, not from the check itself.
        let (min, _) = state.length;
        if taken != other && check.offset <= min && (check.passes(true) || check.passes(false)) {
            let first = state.packet_pointers().all(|checked| checked == 0);
            checks.push((Check { block, offset: check.offset, first }, min, state));
        }
    }
    let later = checks.iter().filter(|(check, ..)| !check.first).map(|(check, ..)| check.offset);
    let Some(most) = later.max() else { return false };
    let ends = liveness::at_ends(graph, analysis);
    let mut changed = false;
    for (check, min, state) in checks {
        if !check.first || check.offset >= most || min < most {
            continue;
        }
        let End::Branch { test, taken, other } = graph.blocks[check.block].end else { continue };
        let Some(live) = ends.get(&check.block) else { continue };
        let Source::Reg(src) = test.src else { continue };
        let dst_is_pointer = matches!(state.reg(test.dst).kind, Kind::Packet { .. });
        let pointer = if dst_is_pointer { test.dst } else { src };
        let beyond = i64::from(fault::has(Fault::CheckTooLong));
        let Ok(more) = i32::try_from(most - check.offset + beyond) else { continue };
        let busy = live.regs.union(Effect::of_end(graph.blocks[check.block].end));
        let Some(scratch) = scratch(live.regs, busy, pointer) else { continue };
        let origin = graph.blocks[check.block].origin;
        let insns = &mut graph.blocks[check.block].insns;
        let alu = |op, src| {
            let insn = Insn::Alu { width: Width::W64, op, dst: scratch, src };
            Instr { op: Op::Insn(insn), origin }
        };
        if scratch != pointer {
            insns.push(alu(AluOp::Mov, Source::Reg(pointer)));
        }
        if scratch != pointer || !moves_further(insns, pointer, more) {
            insns.push(alu(AluOp::Add, Source::Imm(more)));
        }
        let test = if dst_is_pointer {
            Test { dst: scratch, ..test }
        } else {
            Test { src: Source::Reg(scratch), ..test }
        };
        graph.blocks[check.block].end = End::Branch { test, taken, other };
        changed = true;
    }
    changed
}

/// If the last instruction adds a constant to the pointer, increases the constant by `more` and
/// returns true. Otherwise, returns false.
fn moves_further(insns: &mut [Instr], pointer: Register, more: i32) -> bool {
    if let Some(Instr {
        op: Op::Insn(Insn::Alu { width: Width::W64, op: AluOp::Add, dst, src: Source::Imm(by) }),
        ..
    }) = insns.last_mut()
        && *dst == pointer
        && let Some(further) = by.checked_add(more)
    {
        *by = further;
        return true;
    }
    false
}

/// Returns a register that can hold another address during a bounds check: the pointer's own
/// register if the pointer is not read after the check, otherwise a free one. Returns `None` if no
/// register is free.
fn scratch(live: Registers, busy: Registers, pointer: Register) -> Option<Register> {
    if !live.contains(pointer) {
        return Some(pointer);
    }
    (0..10).filter_map(Register::new).find(|&reg| !busy.contains(reg))
}

#[cfg(test)]
mod tests;
