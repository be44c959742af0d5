//! The driver's optimisations, in its order (`nfp_bpf_optimize`). They work on the BPF instructions
//! and decide what is emitted for each.
//!
//! Two more of the driver's passes join a load of classic BPF with the mask or shifts behind it; the
//! kernel accepts such loads in no XDP program, so they are not here.

mod cache;
mod gather;
mod negate;

use slowpath_bpf::insn::{AluOp, Insn, Source, Width};

use super::step::Plan;

pub(super) fn optimize(plan: &mut Plan<'_>) {
    skip_saved_context(plan);
    negate::negate(plan);
    gather::gather(plan);
    cache::share(plan);
}

/// Programs begin with `r6 = r1`; the context's address means nothing on the card
/// (`nfp_bpf_opt_reg_init`).
fn skip_saved_context(plan: &mut Plan<'_>) {
    for step in &mut plan.steps {
        if let Insn::Alu { width: Width::W64, op, dst, src: Source::Reg(src) } = step.insn {
            if op == AluOp::Xor && src == dst {
                continue;
            }
            if op == AluOp::Mov && (src.number(), dst.number()) == (1, 6) {
                step.skipped = true;
            }
        }
        if !step.skipped {
            return;
        }
    }
}
