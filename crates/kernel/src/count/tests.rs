//! Tests the positions of the additions to a counter that are inserted into a program, and the
//! registers that they use. `tests/counts.rs` checks the resulting counts in the kernel.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{
    AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width, helper,
};

use super::Answer;
use super::rewrite::{Weights, counting};

const COUNTER: u32 = 7;

fn register(number: u8) -> Register {
    Register::new(number).expect("there is such a register")
}

fn set(dst: u8, imm: i32) -> Insn {
    let (width, op, src) = (Width::W64, AluOp::Mov, Source::Imm(imm));
    Insn::Alu { width, op, dst: register(dst), src }
}

fn add(dst: u8, src: u8) -> Insn {
    let (op, src) = (AluOp::Add, Source::Reg(register(src)));
    Insn::Alu { width: Width::W64, op, dst: register(dst), src }
}

fn store(offset: i16) -> Insn {
    Insn::Store { size: Size::DW, base: Register::FRAME, offset, src: Source::Imm(0) }
}

fn branch(offset: i16) -> Insn {
    let (width, cond) = (Width::W64, Condition::Eq);
    Insn::Branch { width, cond, dst: register(0), src: Source::Imm(0), offset }
}

fn program(insns: Vec<Insn>) -> BpfProgram {
    crate::tests::program(insns, &[0])
}

/// Returns the slots at which additions to the counter were inserted, with the number that each of
/// them adds.
fn additions(insns: &[Insn]) -> Vec<(usize, i32)> {
    let addition = |(slot, insn): (usize, &Insn)| match (insn, insns.get(slot + 2)?) {
        (
            Insn::LoadImm64 { value: Imm64::MapValue { map: COUNTER, .. }, .. },
            Insn::Alu { op: AluOp::Mov, src: Source::Imm(count), .. },
        ) => Some((slot, *count)),
        _ => None,
    };
    insns.iter().enumerate().filter_map(addition).collect()
}

#[test]
fn every_block_counts_its_instructions_and_jumps_lead_to_its_addition() {
    // A loop of two blocks, and a wide load in the last.
    let wide = Insn::LoadImm64 { dst: register(1), value: Imm64::Value(1) };
    let insns = vec![set(0, 2), set(6, 3), branch(2), add(0, 6), branch(-3), wide];
    let insns = [insns, vec![Insn::SecondSlot, set(0, 2), Insn::Exit]].concat();
    let counted = counting(&program(insns.clone()), COUNTER, &[], Weights::None)
        .expect("there is room")
        .insns;
    let added = additions(&counted);
    let counts: Vec<i32> = added.iter().map(|(_, count)| *count).collect();
    // Blocks: the first two instructions, the loop's head, its body, and the rest.
    assert_eq!(counts, [2, 1, 2, 3]);
    let targets: Vec<usize> =
        (0..counted.len()).filter_map(|slot| counted[slot].jump_target(slot)).collect();
    assert_eq!(targets, [added[3].0, added[1].0]);
    assert_eq!(counted.len(), insns.len() + 4 * added.len(), "nothing is saved");
}

/// Returns a program that has no free registers: it sets all of them, branches, and reads all of
/// them at its end. Its deepest stack access is at the offset `deepest` from the frame pointer.
fn crowded(deepest: i16) -> BpfProgram {
    let sets = (2..10).map(|n| set(n, 1));
    let adds = (2..10).map(|n| add(0, n));
    let mut insns = vec![store(deepest), add(1, 1), set(0, 0)];
    insns.extend(sets.chain([branch(0), add(0, 1)]).chain(adds).chain([Insn::Exit]));
    program(insns)
}

#[test]
fn registers_that_are_read_later_are_saved_below_the_stack_in_use() {
    let counted =
        counting(&crowded(-24), COUNTER, &[], Weights::None).expect("there is room").insns;
    let saves =
        |insn: &&Insn| matches!(insn, Insn::Store { base: Register::FRAME, offset: -40 | -32, .. });
    let restores =
        |insn: &&Insn| matches!(insn, Insn::Load { base: Register::FRAME, offset: -40 | -32, .. });
    let (saved, restored) =
        (counted.iter().filter(saves).count(), counted.iter().filter(restores).count());
    assert_eq!(saved, restored);
    // After the branch, registers become dead one by one.
    assert!(saved <= 2, "{saved}");
}

#[test]
fn a_block_that_needs_all_registers_has_no_room_on_a_full_stack() {
    // Between the two branches, all registers have a value that is read later.
    let mut full = crowded(-512);
    let at = full.insns.iter().position(|insn| matches!(insn, Insn::Branch { .. })).expect("one");
    full.insns.insert(at, branch(0));
    let refused = counting(&full, COUNTER, &[], Weights::None).expect_err("there is no room");
    assert_eq!(refused, "there is no register and no room on the stack");
    let mut room = crowded(-496);
    room.insns.insert(at, branch(0));
    assert!(counting(&room, COUNTER, &[], Weights::None).is_ok());
}

#[test]
fn a_call_with_effects_is_not_made_where_it_is_answered() {
    let update = Insn::Call(Call::Helper(2));
    let program = program(vec![branch(1), update, set(0, 2), Insn::Exit]);
    let helper = "bpf_map_update_elem".to_owned();
    let given = [Answer { instruction: 1, helper, result: 77, writes: Vec::new() }];
    let counted = counting(&program, COUNTER, &given, Weights::None).expect("there is room").insns;
    assert!(!counted.contains(&update));
    let value = Insn::LoadImm64 { dst: register(0), value: Imm64::Value(77) };
    assert!(counted.contains(&value));
}

#[test]
fn an_answer_replaces_the_result_of_its_call() {
    let time = Insn::Call(Call::Helper(helper::KTIME_GET_NS));
    let insns = vec![branch(1), time, set(0, 2), Insn::Exit];
    let answer = |instruction, helper: &str| Answer {
        instruction,
        helper: helper.to_owned(),
        result: 77,
        writes: Vec::new(),
    };
    let program = program(insns);
    let given = [answer(1, "bpf_ktime_get_ns")];
    let counted = counting(&program, COUNTER, &given, Weights::None).expect("there is room").insns;
    // The program still calls the helper that reads the clock.
    let value = Insn::LoadImm64 { dst: register(0), value: Imm64::Value(77) };
    let called = counted.iter().position(|insn| *insn == time).expect("it is called");
    assert_eq!(counted[called + 1], value);
    let added = additions(&counted);
    let counts: Vec<i32> = added.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [1, 1, 2]);
    let targets: Vec<usize> =
        (0..counted.len()).filter_map(|slot| counted[slot].jump_target(slot)).collect();
    assert_eq!(targets, [added[2].0]);
    for wrong in [answer(1, "bpf_get_prandom_u32"), answer(2, "bpf_ktime_get_ns")] {
        assert!(counting(&program, COUNTER, &[wrong], Weights::None).is_err());
    }
}
