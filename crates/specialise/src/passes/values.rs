//! Propagates constants and removes redundant computations. An instruction with a constant result
//! becomes a load of that constant. If a register already holds the result, the instruction becomes
//! a copy of the register. This includes loads of bytes that were read or written before. An
//! instruction without effect is removed.

use super::log::{Change, Log};
use crate::analysis::{Analysis, FactSet, Kind, State, Value};
use crate::effect::result;
use crate::fault::{self, Fault};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::{AluOp, Imm64, Insn, Register, Source, Width};

/// Simplifies computations whose results are known. Returns true if the graph changed.
pub(crate) fn simplify_values(
    graph: &mut Graph,
    analysis: &mut Analysis<'_>,
    log: &mut Log,
) -> bool {
    let mut changed = false;
    for block in graph.order(0) {
        let Some(mut state) = analysis.entry(block).cloned() else { continue };
        let mut insns = Vec::with_capacity(graph.blocks[block].insns.len());
        for (place, instr) in graph.blocks[block].insns.iter().enumerate() {
            let before = state.clone();
            analysis.step(&mut state, block, place, instr);
            let Some(dst) = result(&instr.op) else {
                insns.push(*instr);
                continue;
            };
            match simpler(&before, &state, instr, dst) {
                None => insns.push(*instr),
                Some(Simpler::Nothing(reason)) => {
                    log.note(instr.origin, Change::NoEffect, reason);
                    changed = true;
                }
                Some(Simpler::Constant(mut value, reason)) => {
                    if fault::has(Fault::ConstantTooGreat) {
                        value = value.wrapping_add(1);
                    }
                    log.note(instr.origin, Change::Constant(value), reason);
                    insns.push(Instr { op: Op::Insn(constant(dst, value)), ..*instr });
                    changed = true;
                }
                Some(Simpler::Copy(src)) => {
                    let (width, op, src) = (Width::W64, AluOp::Mov, Source::Reg(src));
                    insns.push(Instr { op: Op::Insn(Insn::Alu { width, op, dst, src }), ..*instr });
                    changed = true;
                }
            }
        }
        graph.blocks[block].insns = insns;
    }
    changed
}

enum Simpler {
    Nothing(FactSet),
    Constant(u64, FactSet),
    Copy(Register),
}

/// Returns a simpler instruction with the same result, or `None` if there is none.
fn simpler(before: &State, after: &State, instr: &Instr, dst: Register) -> Option<Simpler> {
    let (old, new) = (before.reg(dst), after.reg(dst));
    if old.number == new.number && replaces(old, new) {
        return Some(Simpler::Nothing(old.reason | new.reason));
    }
    let Op::Insn(insn) = instr.op else { return None };
    if let Some(value) = new.constant() {
        return (insn != constant(dst, value)).then_some(Simpler::Constant(value, new.reason));
    }
    // Copies and loads of constants cannot become simpler.
    let copies = matches!(insn, Insn::Alu { op: AluOp::Mov, src: Source::Reg(_), .. });
    if copies || matches!(insn, Insn::LoadImm64 { .. }) {
        return None;
    }
    let held = |reg: &Register| {
        let value = before.reg(*reg);
        let same = value.number == new.number || fault::has(Fault::CopyOfAnother);
        same && replaces(value, new)
    };
    let mut regs = (0..10).filter_map(Register::new);
    regs.find(held).map(Simpler::Copy)
}

/// Returns true if the kernel's verifier accepts a program in which `value` replaces `other`. Both
/// are equal in every run, but the verifier does not know this.
pub(super) fn replaces(value: &Value, other: &Value) -> bool {
    match (value.kind, other.kind) {
        (Kind::Packet { checked, .. }, Kind::Packet { checked: needed, .. }) => checked >= needed,
        (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b) && a != Kind::Any,
    }
}

/// Returns the shortest instruction that loads a constant into a register.
pub(super) fn constant(dst: Register, value: u64) -> Insn {
    let (op, signed) = (AluOp::Mov, value as i64);
    if let Ok(value) = i32::try_from(signed) {
        return Insn::Alu { width: Width::W64, op, dst, src: Source::Imm(value) };
    }
    match u32::try_from(value) {
        Ok(value) => Insn::Alu { width: Width::W32, op, dst, src: Source::Imm(value as i32) },
        Err(_) => Insn::LoadImm64 { dst, value: Imm64::Value(value) },
    }
}

#[cfg(test)]
mod tests;
