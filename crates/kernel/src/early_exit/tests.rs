//! Tests where early-exit checks are inserted into a program, and how jumps are adapted to them.
//! `crates/measure/tests/stretches.rs` tests the exits in the kernel.

use slowpath_bpf::insn::{
    AluOp, Call, Condition, Imm64, Insn, Register, Source, Width, helper::KTIME_GET_NS,
};

use super::rewrite::{cuttable, exit_points};
use crate::tests::program;

const WORD: u32 = 7;
const CALL: Insn = Insn::Call(Call::Helper(KTIME_GET_NS));

fn set(dst: Register, imm: i32) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(imm) }
}

fn branch(offset: i16) -> Insn {
    let (width, cond) = (Width::W64, Condition::Eq);
    Insn::Branch { width, cond, dst: Register::R6, src: Source::Imm(0), offset }
}

/// Returns the slots at which early-exit checks were inserted, each with the number that selects
/// this exit.
fn checks(insns: &[Insn]) -> Vec<(usize, i32)> {
    let check = |(slot, insn): (usize, &Insn)| match (insn, insns.get(slot + 3)?) {
        (
            Insn::LoadImm64 { value: Imm64::MapValue { map: WORD, .. }, .. },
            Insn::Branch { src: Source::Imm(number), .. },
        ) => Some((slot, *number)),
        _ => None,
    };
    insns.iter().enumerate().filter_map(check).collect()
}

#[test]
fn jumps_to_a_place_lead_to_its_check_and_jumps_over_the_place_skip_the_check() {
    // Slot 1 jumps to the call in slot 3 or falls through to 2, which jumps over the call to 4.
    let insns = vec![set(Register::R6, 1), branch(1), branch(1), CALL, set(Register::R0, 2)];
    let insns = [insns, vec![Insn::Exit]].concat();
    let cut = cuttable(&program(insns, &[0]), WORD, &[3], &[]).expect("there is room").insns;
    assert_eq!(checks(&cut), [(3, 1)]);
    let target = |slot: usize| cut[slot].jump_target(slot);
    assert_eq!((target(1), target(2)), (Some(3), Some(10)));
    assert_eq!(cut[9], CALL);
    // A check that does not exit continues with the call.
    assert_eq!(target(6), Some(9));
    assert_eq!(cut[8], Insn::Exit);
}

#[test]
fn places_are_numbered_in_the_order_of_the_argument() {
    let insns = vec![set(Register::R6, 1), CALL, CALL, set(Register::R0, 2), Insn::Exit];
    let cut = cuttable(&program(insns, &[0]), WORD, &[2, 1], &[]).expect("there is room").insns;
    assert_eq!(checks(&cut), [(1, 2), (8, 1)]);
}

#[test]
fn a_program_does_not_end_in_its_functions_nor_twice_at_a_place() {
    let call = Insn::Call(Call::Subprogram { offset: 1 });
    let insns = vec![call, Insn::Exit, set(Register::R0, 2), Insn::Exit];
    let program = program(insns, &[0, 2]);
    assert_eq!(exit_points(&program), [true, true, false, false]);
    assert!(cuttable(&program, WORD, &[2], &[]).is_err());
    assert!(cuttable(&program, WORD, &[0, 0], &[]).is_err());
    assert!(cuttable(&program, WORD, &[9], &[]).is_err());
    // The inserted check moves the called function.
    let cut = cuttable(&program, WORD, &[0], &[]).expect("there is room");
    assert_eq!(cut.subprograms[1].first, 8);
    assert_eq!(cut.insns[6].function_target(6), Some(8));
}
