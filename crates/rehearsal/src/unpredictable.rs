//! Finds calls of functions whose results depend on more than packet and maps, such as the time.

use std::collections::BTreeSet;

use slowpath_bpf::insn::helper::helper_name;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::{BpfProgram, Object, ObjectError, SlotRef};
use slowpath_kernel::Kernel;

/// Words in the names of unpredictable functions, whose results or later effects depend on more
/// than packet and maps.
const UNPREDICTABLE: [&str; 6] = ["ktime", "jiffies", "prandom", "timer", "random", "timestamp"];

/// Links a program and all programs that it can tail-call. The program itself comes first. Uses the
/// running kernel's BTF types if the object needs them.
pub fn link_all(
    kernel: &Kernel,
    (object, program): (&Object, usize),
) -> Result<Vec<BpfProgram>, ObjectError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![program];
    while let Some(number) = pending.pop() {
        if !seen.insert(number) {
            continue;
        }
        let mut linked = object.link(number, None)?;
        if !linked.unresolved.is_empty() {
            linked = object.link(number, kernel.types())?;
        }
        found.push(linked);
        // Program arrays that the program does not use count, too: the result may be too large.
        let slots = object.maps.iter().flat_map(|map| &map.slots);
        pending.extend(slots.filter_map(|(_, slot)| match slot {
            SlotRef::Program(program) => Some(*program),
            SlotRef::Map(_) => None,
        }));
    }
    Ok(found)
}

/// Returns the names of all functions called by the programs whose results or later effects are
/// unpredictable.
pub fn unpredictable_calls(programs: &[BpfProgram]) -> BTreeSet<String> {
    let called = programs.iter().flat_map(|program| {
        let helpers = program.insns.iter().filter_map(|insn| match insn {
            Insn::Call(Call::Helper(number)) => helper_name(*number).map(str::to_owned),
            _ => None,
        });
        helpers.chain(program.kfuncs.iter().cloned())
    });
    called.filter(|name| UNPREDICTABLE.iter().any(|word| name.contains(word))).collect()
}
