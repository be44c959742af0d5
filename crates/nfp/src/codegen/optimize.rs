//! The driver's optimisations, in its order (`nfp_bpf_optimize`). They work on the BPF instructions
//! and decide what is emitted for each.
//!
//! Two more of the driver's passes join a load of classic BPF with the mask or shifts behind it; the
//! kernel accepts such loads in no XDP program, so they are not here.

mod cache;
mod gather;
mod negate;

use std::collections::BTreeSet;

use slowpath_bpf::insn::{AluOp, Insn, Source, Width};

use super::annotated::AnnotatedProgram;
use super::refusal::{Cause, Refusal};

/// The driver drops what the verifier replaces by jumps to the next instruction, dead ones in
/// between left out (`opt_hard_wire_dead_code_branches`, `opt_remove_dead_code`,
/// `opt_remove_nops`).
pub(super) fn drop_decided_jumps(program: &mut AnnotatedProgram<'_>) {
    for slot in 0..program.insns.len() {
        let next = slot + 1;
        let goes_to_next = |target: Option<usize>| {
            target.is_some_and(|to| to > slot && (next..to).all(|slot| !program.is_live(slot)))
        };
        let target = program.insns[slot].target;
        let goes_on = match program.insns[slot].insn {
            Insn::Jump { .. } => goes_to_next(target),
            // Never taken, or always.
            Insn::Branch { .. } if program.is_live(next) => {
                !target.is_some_and(|to| program.is_live(to))
            }
            Insn::Branch { .. } => goes_to_next(target),
            _ => false,
        };
        program.insns[slot].skipped |= goes_on;
    }
}

/// Runs the first, which can refuse a program: jumps to an instruction that is left out are such that
/// the driver cannot compile.
pub(super) fn leave_out(program: &mut AnnotatedProgram<'_>) -> Vec<Refusal> {
    let left_out = skip_saved_context(program);
    let jumps = program.insns.iter().enumerate().filter(|(_, insn)| {
        !insn.skipped && insn.target.is_some_and(|target| left_out.contains(&target))
    });
    let refused = jumps.map(|(slot, _)| {
        let what = "a jump back to the program's first instruction";
        Refusal::at(program.linked, slot, Cause::new(what, "begin the loop behind it"))
    });
    refused.collect()
}

/// Runs all that follow.
pub(super) fn optimize(program: &mut AnnotatedProgram<'_>) {
    negate::negate(program);
    gather::gather(program);
    cache::share(program);
}

/// Programs begin with `r6 = r1`; the context's address means nothing on the card
/// (`nfp_bpf_opt_reg_init`). Returns the slots that are left out.
fn skip_saved_context(program: &mut AnnotatedProgram<'_>) -> BTreeSet<usize> {
    let mut left_out = BTreeSet::new();
    for (slot, insn) in program.insns.iter_mut().enumerate() {
        if let Insn::Alu { width: Width::W64, op, dst, src: Source::Reg(src) } = insn.insn {
            if op == AluOp::Xor && src == dst {
                continue;
            }
            if op == AluOp::Mov && (src.number(), dst.number()) == (1, 6) {
                insn.skipped = true;
                left_out.insert(slot);
            }
        }
        if !insn.skipped {
            break;
        }
    }
    left_out
}
