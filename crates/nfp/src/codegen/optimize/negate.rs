//! Replaces additions, subtractions and comparisons with a negative constant by the opposite
//! operation with the absolute value. The absolute value more often fits into an operand
//! (`nfp_bpf_opt_neg_add_sub`).

use slowpath_bpf::insn::{AluOp, Condition, Insn, Source};

use crate::codegen::annotated::AnnotatedProgram;

pub(super) fn negate(program: &mut AnnotatedProgram<'_>) {
    for insn in program.insns.iter_mut().filter(|insn| !insn.skipped) {
        match &mut insn.insn {
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
                insn.negated = true;
                *value = value.wrapping_neg();
            }
            _ => {}
        }
    }
}
