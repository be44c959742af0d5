//! Turns branches with a known outcome into jumps. Some branches stay, because the kernel's
//! verifier learns from them: bounds checks, and comparisons of numbers that are still used. The
//! edge of these branches that no packet takes leads to a block that ends the program.

use super::liveness::{self, Live};
use super::log::{Change, Log};
use crate::analysis::{Analysis, Kind, State, Value, bounds_check};
use crate::fault::{self, Fault};
use crate::graph::{Block, BlockId, End, Graph, Instr, Op};
use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};

/// Return value `XDP_ABORTED` of code that no packet reaches.
const ABORTED: i32 = 0;

/// Turns branches whose outcome is known into jumps. Returns true if the graph changed.
pub(crate) fn fold_branches(graph: &mut Graph, analysis: &mut Analysis<'_>, log: &mut Log) -> bool {
    let mut changed = false;
    let live = liveness::at_ends(graph, analysis);
    for block in graph.order(0) {
        let End::Branch { test, taken, other } = graph.blocks[block].end else { continue };
        if taken == other {
            graph.blocks[block].end = End::Jump(taken);
            changed = true;
            continue;
        }
        let Some(state) = analysis.walk(graph, block, |_, _, _| ()) else { continue };
        let src = analysis.operand(&state, &test);
        let Some(decision) = analysis.decide(&state, &test, &src) else { continue };
        let origin = graph.blocks[block].origin;
        let change = if decision.holds { Change::AlwaysTaken } else { Change::NeverTaken };
        let holds = decision.holds != fault::has(Fault::OtherWay);
        let (way, never) = if holds { (taken, other) } else { (other, taken) };
        let teaches = match bounds_check(&test, state.reg(test.dst), &src) {
            Some(check) => {
                check.passes(decision.holds)
                    && live.get(&block).is_none_or(|live| profits(&state, live, check.offset))
            }
            None => [state.reg(test.dst), &src].into_iter().any(|value| {
                value.constant().is_none()
                    && live.get(&block).is_some_and(|l| is_used(&state, l, value))
            }),
        };
        if !teaches || fault::has(Fault::NothingTaught) {
            log.note(origin, change, decision.reason);
            graph.blocks[block].end = End::Jump(way);
            changed = true;
        } else if !is_end(graph, never) {
            log.note(origin, change, decision.reason);
            let end = end(graph, origin);
            graph.blocks[block].end =
                graph.blocks[block].end.map(|to| if to == never { end } else { to });
            changed = true;
        }
    }
    changed
}

/// Returns true if a bounds check that proves `checked` bytes tells the verifier more than before
/// about a pointer that is read later.
fn profits(state: &State, live: &Live, checked: i64) -> bool {
    let less = |value: &Value| matches!(value.kind, Kind::Packet { checked: c, .. } if c < checked);
    let mut regs = (0..=10).filter_map(Register::new);
    regs.any(|reg| live.regs.contains(reg) && less(state.reg(reg)))
        || state
            .stack
            .iter()
            .any(|(offset, cell)| less(&cell.value) && live.any_of(offset, cell.bytes.into()))
}

/// Returns true if a register or stack slot that is read later contains this value.
fn is_used(state: &State, live: &Live, value: &Value) -> bool {
    let mut regs = (0..=10).filter_map(Register::new);
    let held = |reg: Register| live.regs.contains(reg) && state.reg(reg).number == value.number;
    regs.any(held)
        || state.stack.iter().any(|(offset, cell)| {
            cell.value.number == value.number && live.any_of(offset, cell.bytes.into())
        })
}

/// Returns the instructions of the block that replaces code that no packet reaches. The block ends
/// the program.
fn insns(origin: usize) -> Vec<Instr> {
    let (width, op, dst) = (Width::W32, AluOp::Mov, Register::R0);
    let insn = Insn::Alu { width, op, dst, src: Source::Imm(ABORTED) };
    vec![Instr { op: Op::Insn(insn), origin }]
}

/// Returns true if this is the block that replaces code that no packet reaches.
fn is_end(graph: &Graph, block: BlockId) -> bool {
    let Block { insns: found, end, .. } = &graph.blocks[block];
    let ops = |insns: &[Instr]| insns.iter().map(|instr| instr.op).collect::<Vec<_>>();
    *end == End::Exit && ops(found) == ops(&insns(0))
}

/// Returns the block that replaces code that no packet reaches. Adds the block to the graph if it
/// does not exist.
fn end(graph: &mut Graph, origin: usize) -> BlockId {
    let known = (0..graph.blocks.len()).find(|&block| is_end(graph, block));
    known.unwrap_or_else(|| {
        graph.blocks.push(Block { insns: insns(origin), end: End::Exit, origin });
        graph.blocks.len() - 1
    })
}

#[cfg(test)]
mod tests;
