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

use super::error::Cause;
use super::refusal::Refusal;
use super::step::Plan;

/// Runs the first, which can refuse a program: jumps to an instruction that is left out are such that
/// the driver cannot compile.
pub(super) fn leave_out(plan: &mut Plan<'_>) -> Vec<Refusal> {
    let left_out = skip_saved_context(plan);
    let jumps = plan.steps.iter().enumerate().filter(|(_, step)| {
        !step.skipped && step.target.is_some_and(|target| left_out.contains(&target))
    });
    let refused = jumps.map(|(slot, _)| {
        let what = "a jump back to the program's first instruction";
        Refusal::at(plan.program, slot, Cause::new(what, "begin the loop behind it"))
    });
    refused.collect()
}

/// Runs all that follow.
pub(super) fn optimize(plan: &mut Plan<'_>) {
    negate::negate(plan);
    gather::gather(plan);
    cache::share(plan);
}

/// Programs begin with `r6 = r1`; the context's address means nothing on the card
/// (`nfp_bpf_opt_reg_init`). Returns the slots that are left out.
fn skip_saved_context(plan: &mut Plan<'_>) -> BTreeSet<usize> {
    let mut left_out = BTreeSet::new();
    for (slot, step) in plan.steps.iter_mut().enumerate() {
        if let Insn::Alu { width: Width::W64, op, dst, src: Source::Reg(src) } = step.insn {
            if op == AluOp::Xor && src == dst {
                continue;
            }
            if op == AluOp::Mov && (src.number(), dst.number()) == (1, 6) {
                step.skipped = true;
                left_out.insert(slot);
            }
        }
        if !step.skipped {
            break;
        }
    }
    left_out
}
