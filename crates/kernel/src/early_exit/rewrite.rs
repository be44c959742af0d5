//! Inserts checks into a program. At each check, the program can exit early.

use std::collections::BTreeMap;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{AluOp, Condition, Imm64, Insn, Register, Size, Source, Width};

use crate::count::{Answer, replacements};
use crate::rewriting::{RegisterState, before, insert_and_replace};

/// Return value of a program that exits early: `XDP_PASS`.
pub const EXIT_ACTION: u32 = 2;

/// Returns, for each instruction slot, true if the program can exit early there. It can if the slot
/// is in the entry function and a register is free for the check.
pub fn exit_points(program: &BpfProgram) -> Vec<bool> {
    let end = program.subprograms.get(1).map_or(program.insns.len(), |function| function.first);
    let before = before(program);
    let place = |(slot, insn): (usize, &Insn)| {
        slot < end && *insn != Insn::SecondSlot && register(&before[slot]).is_some()
    };
    program.insns.iter().enumerate().map(place).collect()
}

fn register(before: &RegisterState) -> Option<Register> {
    before.free.iter().next()
}

/// Inserts an early-exit check before each slot of `places`, and replaces the calls listed in
/// `answers` by fixed results. `word` is the index of the map that selects the exit.
///
/// # Errors
/// A short reason if a check cannot be inserted, or an answer does not fit the call that it
/// replaces.
pub fn cuttable(
    program: &BpfProgram,
    word: u32,
    places: &[usize],
    answers: &[Answer],
) -> Result<BpfProgram, &'static str> {
    let possible = exit_points(program);
    let before = before(program);
    let mut added = BTreeMap::new();
    for (number, &slot) in (1..).zip(places) {
        let fits = possible.get(slot).copied().unwrap_or(false);
        let scratch = before.get(slot).filter(|_| fits).and_then(register);
        let scratch = scratch.ok_or("it cannot end at one of the places")?;
        if added.insert(slot, check(scratch, word, number).to_vec()).is_some() {
            return Err("it is to end at the same place twice");
        }
    }
    insert_and_replace(program, &added, &replacements(program, answers)?)
}

/// Returns the instructions of an early-exit check: `if selection == number return XDP_PASS`.
/// `word` is the index of the map whose value is the selection; `scratch` is a free register.
fn check(scratch: Register, word: u32, number: i32) -> [Insn; 6] {
    let value = Imm64::MapValue { map: word, offset: 0 };
    let width = Width::W64;
    [
        Insn::LoadImm64 { dst: scratch, value },
        Insn::SecondSlot,
        Insn::Load { size: Size::W, signed: false, dst: scratch, base: scratch, offset: 0 },
        Insn::Branch {
            width,
            cond: Condition::Ne,
            dst: scratch,
            src: Source::Imm(number),
            offset: 2,
        },
        Insn::Alu {
            width,
            op: AluOp::Mov,
            dst: Register::R0,
            src: Source::Imm(EXIT_ACTION as i32),
        },
        Insn::Exit,
    ]
}
