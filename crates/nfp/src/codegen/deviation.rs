//! Where the card does something else than the kernel: faults of the driver's compiler, which this one
//! repeats, and look-ups of elements that an array does not have.
//!
//! The listing is what the card runs all the same, so that its guarantee holds.

use std::collections::BTreeSet;

use slowpath_bpf::insn::{AluOp, Call, Insn, Source, Width};

use super::step::{Plan, Step};
use super::{copy, helper, liveness, multiply};

/// The greatest result that the firmware knows.
const XDP_TX: u64 = 3;
const LEAST: Source = Source::Imm(i32::MIN);

/// The sentences about a program, with the places of the instructions.
pub(super) fn deviations(plan: &Plan<'_>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (slot, step) in plan.steps.iter().enumerate().filter(|(_, step)| !step.skipped) {
        if let Some(what) = deviation(plan, slot, step) {
            found.insert((slot, what));
        }
    }
    let sentence =
        |(slot, what): (usize, &str)| format!("{}: {what}", plan.program.place_text(slot));
    found.into_iter().map(sentence).collect()
}

fn deviation(plan: &Plan<'_>, slot: usize, step: &Step) -> Option<&'static str> {
    match step.insn {
        Insn::Exit if plan.function_of(slot).first == 0 && step.bounds.dst_max() > XDP_TX => {
            Some("a result above XDP_TX, such as XDP_REDIRECT, drops the packet on the card")
        }
        // The opposite operation on the absolute value, which has no 32 bits.
        Insn::Alu { width: Width::W64, op: AluOp::Add | AluOp::Sub, src: LEAST, .. } => {
            Some("the card takes the constant -2147483648 for 2147483648")
        }
        Insn::Branch { src: LEAST, .. } if step.negated => {
            Some("the card takes the constant -2147483648 for 2147483648")
        }
        Insn::Alu { width: Width::W64, op: AluOp::Lsh, src: Source::Reg(_), .. } => {
            let (least, most) = step.bounds.src();
            let wrong = least == 0 && most > 0;
            wrong.then_some("a left shift by 0 bits yields another value on the card")
        }
        Insn::Alu { width: Width::W32, op: op @ (AluOp::Div | AluOp::Mul), src, .. }
            if step.zero_extends
                && step.unextended
                && (op == AluOp::Div || multiply::is_narrow(step, src)) =>
        {
            Some("the card leaves what was above a 32-bit result, which is read as 64 bits")
        }
        Insn::Call(Call::Helper(helper::ADJUST_HEAD))
            if helper::always_succeeds(plan, slot)
                && (liveness::repeats(plan, slot) || helper::cuts_tail(plan)) =>
        {
            Some("the card moves the packet's head without a check, although it may be too short")
        }
        Insn::Load { .. } if copy::overlaps(plan, slot) => {
            Some("the memory copy that begins here reads what it has not written yet on the card")
        }
        Insn::Load { .. } if copy::leaves_wrong_value(plan, slot) => Some(
            "behind the memory copy that begins here, the card has another value in the register",
        ),
        _ => None,
    }
}
