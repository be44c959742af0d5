//! Additions, subtractions and comparisons with negative constants: the opposite operation on the
//! constant's absolute value, which more often fits into an operand (`nfp_bpf_opt_neg_add_sub`).

use slowpath_bpf::insn::{AluOp, Condition, Insn, Source};

use crate::codegen::step::Plan;

pub(super) fn negate(plan: &mut Plan<'_>) {
    for step in plan.steps.iter_mut().filter(|step| !step.skipped) {
        match &mut step.insn {
            Insn::Alu { op: op @ (AluOp::Add | AluOp::Sub), src: Source::Imm(value), .. }
                if *value < 0 =>
            {
                *op = if *op == AluOp::Add { AluOp::Sub } else { AluOp::Add };
                *value = value.wrapping_neg();
            }
            Insn::Branch {
                cond: Condition::Ge | Condition::Sge | Condition::Lt | Condition::Slt,
                src: Source::Imm(value),
                ..
            } if *value < 0 => {
                step.negated = true;
                *value = value.wrapping_neg();
            }
            _ => {}
        }
    }
}
