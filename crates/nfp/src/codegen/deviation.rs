//! Finds instructions that behave differently on the card than in the kernel. These differences are
//! bugs of the driver's compiler, which this compiler reproduces.
//!
//! The card runs the listing in spite of them, so the guarantee for the listing still holds.

mod copies;
mod liveness;

use std::collections::BTreeSet;

use slowpath_bpf::insn::helper::XDP_ADJUST_TAIL;
use slowpath_bpf::insn::{AluOp, Call, Insn, Source, Width};

use super::annotated::{AnnotatedInsn, AnnotatedProgram};
use super::emit::is_narrow;
use crate::firmware::MAX_RESULT;

/// The immediate operand with the smallest 32-bit constant, whose absolute value does not fit into
/// a signed 32-bit number.
const LEAST: Source = Source::Imm(i32::MIN);

/// Returns a sentence for each instruction that behaves differently on the card than in the kernel.
/// The sentence contains the location of the instruction.
pub(super) fn deviations(program: &AnnotatedProgram<'_>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (slot, insn) in program.insns.iter().enumerate().filter(|(_, insn)| !insn.skipped) {
        if let Some(what) = deviation(program, slot, insn) {
            found.insert((slot, what));
        }
    }
    let sentence =
        |(slot, what): (usize, &str)| format!("{}: {what}", program.linked.place_text(slot));
    found.into_iter().map(sentence).collect()
}

fn deviation(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    insn: &AnnotatedInsn,
) -> Option<&'static str> {
    match insn.insn {
        Insn::Exit
            if program.function_of(slot).first == 0
                && insn.bounds.dst_max() > MAX_RESULT.into() =>
        {
            Some("a result above XDP_TX, such as XDP_REDIRECT, drops the packet on the card")
        }
        // The driver emits the opposite operation on the absolute value.
        Insn::Alu { width: Width::W64, op: AluOp::Add | AluOp::Sub, src: LEAST, .. } => {
            Some("the card treats the constant -2147483648 as 2147483648")
        }
        Insn::Branch { src: LEAST, .. } if insn.negated => {
            Some("the card treats the constant -2147483648 as 2147483648")
        }
        Insn::Alu { width: Width::W64, op: AluOp::Lsh, src: Source::Reg(_), .. } => {
            let (least, most) = insn.bounds.src();
            let wrong = least == 0 && most > 0;
            wrong.then_some("a left shift by 0 bits yields another value on the card")
        }
        Insn::Alu { width: Width::W32, op: op @ (AluOp::Div | AluOp::Mul), src, .. }
            if insn.zero_extends
                && insn.unextended
                && (op == AluOp::Div || is_narrow(insn, src)) =>
        {
            Some(
                "the card keeps the upper half of a register after a 32-bit result, but the \
                program reads 64 bits",
            )
        }
        Insn::Call(_)
            if program.unchecked_head == Some(slot)
                && (liveness::repeats(program, slot) || cuts_tail(program)) =>
        {
            Some("the card moves the packet's head without a check, although it may be too short")
        }
        Insn::Load { .. } if copies::overlaps(program, slot) => Some(
            "on the card, the memory copy that begins here reads bytes that it has not yet \
                written",
        ),
        Insn::Load { .. } if copies::leaves_wrong_value(program, slot) => Some(
            "after the memory copy that begins here, the register has another value on the card",
        ),
        _ => None,
    }
}

/// Returns true if the program may remove bytes at the end of packets, with `bpf_xdp_adjust_tail`.
fn cuts_tail(program: &AnnotatedProgram<'_>) -> bool {
    let call = Insn::Call(Call::Helper(XDP_ADJUST_TAIL));
    (0..program.insns.len()).any(|slot| program.is_live(slot) && program.insns[slot].insn == call)
}
