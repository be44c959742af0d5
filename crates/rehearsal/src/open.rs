//! What a program does that neither packet nor maps determine.

use std::collections::BTreeSet;

use slowpath_bpf::insn::helper::helper_name;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::{BpfProgram, Object, ObjectError, SlotRef};
use slowpath_kernel::Kernel;

/// Parts of names of helpers and kernel functions whose results differ from time to time, or that let
/// something happen later.
const OPEN: [&str; 6] = ["ktime", "jiffies", "prandom", "timer", "random", "timestamp"];

/// A program and those that it can tail-call, linked for the running kernel as far as they depend on
/// it.
pub fn linked(
    kernel: &Kernel,
    (object, program): (&Object, usize),
) -> Result<Vec<BpfProgram>, ObjectError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut left = vec![program];
    while let Some(number) = left.pop() {
        if !seen.insert(number) {
            continue;
        }
        let mut linked = object.link(number, None)?;
        if !linked.unresolved.is_empty() {
            linked = object.link(number, kernel.types())?;
        }
        found.push(linked);
        // Whatever map it uses: one too many is only careful.
        let slots = object.maps.iter().flat_map(|map| &map.slots);
        left.extend(slots.filter_map(|(_, slot)| match slot {
            SlotRef::Program(program) => Some(*program),
            SlotRef::Map(_) => None,
        }));
    }
    Ok(found)
}

/// Names of functions that these programs call, whose results differ from time to time.
pub fn open(programs: &[BpfProgram]) -> BTreeSet<String> {
    let called = programs.iter().flat_map(|program| {
        let helpers = program.insns.iter().filter_map(|insn| match insn {
            Insn::Call(Call::Helper(number)) => helper_name(*number).map(str::to_owned),
            _ => None,
        });
        helpers.chain(program.kfuncs.iter().cloned())
    });
    called.filter(|name| OPEN.iter().any(|open| name.contains(open))).collect()
}
