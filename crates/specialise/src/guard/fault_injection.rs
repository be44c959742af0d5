//! Injects faults into guards, so that tests can check that proofs find them.

use crate::fault::{self, Fault};
use crate::graph::{Block, BlockId, End, Graph, Instr, Op};
use slowpath_bpf::insn::{AluOp, Condition, Insn, Source, Width};

/// Applies the injected fault, if there is one, to the guard of a rewritten program.
pub(crate) fn spoil(graph: &mut Graph) {
    let back = |block: BlockId| graph.blocks[block].end == End::Original;
    let guards: Vec<BlockId> = graph
        .order(0)
        .into_iter()
        .filter(
            |&block| matches!(graph.blocks[block].end, End::Branch { taken, .. } if back(taken)),
        )
        .collect();
    let reads_generation = |&&block: &&BlockId| {
        let mut insns = graph.blocks[block].insns.iter();
        insns.any(|instr| matches!(instr.op, Op::Insn(Insn::LoadImm64 { .. })))
    };
    if let Some(&block) = guards.iter().find(reads_generation) {
        let Block { insns, end, origin } = &mut graph.blocks[block];
        let End::Branch { test, other, .. } = *end else { return };
        if fault::has(Fault::GenerationIgnored) {
            *end = End::Jump(other);
        }
        if fault::has(Fault::GenerationCut) {
            let (width, op, dst) = (Width::W64, AluOp::And, test.dst);
            let insn = Insn::Alu { width, op, dst, src: Source::Imm(1) };
            insns.push(Instr { op: Op::Insn(insn), origin: *origin });
        }
    }
    let compares = |&&block: &&BlockId| {
        let End::Branch { test, .. } = graph.blocks[block].end else { return false };
        matches!(test.src, Source::Imm(_))
    };
    let last = guards.iter().rev().find(compares);
    let (Some(&first), Some(&last)) = (guards.first(), last) else { return };
    if fault::has(Fault::GuardTooShort) {
        for instr in &mut graph.blocks[first].insns {
            if let Op::Insn(Insn::Alu { op: AluOp::Add, src: Source::Imm(by), .. }) = &mut instr.op
            {
                *by -= 1;
            }
        }
    }
    let Block { insns, end, origin } = &mut graph.blocks[last];
    let End::Branch { test, other, .. } = end else { return };
    let Source::Imm(value) = &mut test.src else { return };
    if fault::has(Fault::MaskTooSmall) {
        let (width, op, dst) = (Width::W64, AluOp::And, test.dst);
        let insn = Insn::Alu { width, op, dst, src: Source::Imm(!1) };
        insns.push(Instr { op: Op::Insn(insn), origin: *origin });
        *value &= !1;
    }
    if fault::has(Fault::OtherValue) {
        *value ^= 1;
    }
    if fault::has(Fault::ComparisonInverted) {
        test.cond = Condition::Eq;
    }
    if fault::has(Fault::ComparisonDropped) {
        *end = End::Jump(*other);
    }
}
