//! The optimisations of the Linux NFP driver, in its order (`nfp_bpf_optimize`). They rewrite the
//! BPF instructions and decide which code is emitted for each.
//!
//! Two further passes of the driver merge a load of classic BPF with the mask or shifts after it.
//! This module leaves out these passes, because the kernel rejects such loads in XDP programs.

mod cache;
mod gather;
mod negate;

use slowpath_codes as codes;
use std::collections::BTreeSet;

use slowpath_bpf::insn::{AluOp, Insn, Source, Width};

use super::annotated::{AnnotatedInsn, AnnotatedProgram};
use super::facts::Facts;
use super::refusal::{Cause, Refusal};

/// Marks jumps after which control always continues at the next live instruction, so that no code
/// is emitted for them. The kernel's verifier replaces them by jumps to the next instruction, and
/// the driver removes those (`opt_hard_wire_dead_code_branches`, `opt_remove_dead_code`,
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
            // The branch always goes the same way; the other successor is dead.
            Insn::Branch { .. } if program.is_live(next) => {
                !target.is_some_and(|to| program.is_live(to))
            }
            Insn::Branch { .. } => goes_to_next(target),
            _ => false,
        };
        program.insns[slot].skipped |= goes_on;
    }
}

/// Runs the first optimisation, which emits no code for the instruction `r6 = r1` that saves the
/// context. Returns a refusal for each jump to this instruction, because the driver cannot compile
/// such jumps.
pub(super) fn skip_and_check_jumps(program: &mut AnnotatedProgram<'_>) -> Vec<Refusal> {
    let left_out = skip_saved_context(program);
    let jumps = program.insns.iter().enumerate().filter(|(_, insn)| {
        !insn.skipped && insn.target.is_some_and(|target| left_out.contains(&target))
    });
    let refused = jumps.map(|(slot, _)| {
        let what = "a jump back to the program's first instruction";
        Refusal::at(
            program.linked,
            slot,
            Cause::new(codes::CARD_CALLS, what, "begin the loop after it"),
        )
    });
    refused.collect()
}

/// Runs the optimisations after [`skip_and_check_jumps`]: negated constants, memory copies, and
/// shared reads of the packet.
pub(super) fn optimize(program: &mut AnnotatedProgram<'_>) {
    negate::negate(program);
    let (insns, facts) = program.parts();
    gather_and_share(insns, &facts);
}

/// Replaces loads and stores by memory copies, and combines reads of the packet.
pub(super) fn gather_and_share(insns: &mut [AnnotatedInsn], facts: &dyn Facts) {
    gather::gather(insns, facts);
    cache::share(insns, facts);
}

/// Skips the instruction `r6 = r1` at the start of a program, which saves the context. The
/// context's address has no meaning on the SmartNIC (`nfp_bpf_opt_reg_init`). Returns the indices
/// of the skipped instructions.
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
