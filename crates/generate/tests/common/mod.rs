//! Provides code that several tests of generated programs share.

use std::collections::BTreeSet;

use slowpath_bpf::Object;
use slowpath_bpf::insn::{Call, Insn, encode};
use slowpath_bpf::lift::{LiftOptions, Lifted, lift};
use slowpath_generate::{Features, Generated, Programs};

/// Generates the random programs that belong to the first `count` seeds.
pub fn generated(features: &Features, size: usize, count: u64) -> Vec<Generated> {
    let programs = Programs::new(features.clone(), size);
    (0..count).map(|seed| programs.from_seed(seed)).collect()
}

/// Writes the program as an object, parses the object and lifts it to the intermediate
/// representation.
pub fn lifted(program: &Generated) -> Lifted {
    let object = Object::parse(&program.object()).unwrap_or_else(|e| panic!("{e}\n{program}"));
    assert_eq!(object.programs.len(), 1);
    let linked = object.link(0, None).unwrap_or_else(|e| panic!("{e}\n{program}"));
    assert_eq!(linked.insns.len(), program.slots(), "{program}");
    let lifted = lift(&object, &linked, &LiftOptions::default());
    lifted.unwrap_or_else(|e| panic!("{e}\n{program}"))
}

pub fn insns(program: &Generated) -> impl Iterator<Item = &Insn> {
    program.functions().iter().flatten()
}

/// Returns the distinct opcodes of programs. The lower byte of each number is the opcode, and the
/// upper byte is the width of a byte swap, or 0 for other instructions.
pub fn opcodes(programs: &[Generated]) -> BTreeSet<u16> {
    let mut found = BTreeSet::new();
    for insn in programs.iter().flat_map(insns) {
        let bytes = encode(&[*insn]);
        let Some(&opcode) = bytes.first() else { continue };
        let width = if matches!(insn, Insn::Swap { .. }) { bytes[4] } else { 0 };
        found.insert(u16::from(width) << 8 | u16::from(opcode));
    }
    found
}

pub fn calls(program: &Generated, helper: i32) -> bool {
    insns(program).any(|insn| *insn == Insn::Call(Call::Helper(helper)))
}

/// Returns the jumps of the entry function, each with its slot and target.
pub fn jumps(program: &Generated) -> Vec<(usize, usize)> {
    let entry = &program.functions()[0];
    let targets = entry.iter().enumerate();
    targets.filter_map(|(slot, insn)| Some((slot, insn.jump_target(slot)?))).collect()
}
