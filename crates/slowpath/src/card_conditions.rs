//! Lists the conditions under which a program treats packets on the SmartNIC (the card) as it does
//! in the kernel. Results about programs that receive packets from this program depend on these
//! conditions.
//!
//! Sources: `apps/nic/ebpf.uc` of the public firmware and the driver's `bpf/jit.c`. `verify` proves
//! equivalence under such conditions.

use slowpath_bpf::insn::helper::{MAP_LOOKUP_ELEM, XDP_ADJUST_HEAD, XDP_ADJUST_TAIL};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_nfp::{CompileError, CompileOptions, MapAbi};
use slowpath_stop::Stop;

/// Helpers by their numbers in the kernel, each with the condition under which the helper works the
/// same on the SmartNIC as in the kernel.
const OF_HELPERS: [(i32, &str); 3] = [
    (
        MAP_LOOKUP_ELEM,
        "indices of array elements are in range (for others, the kernel finds no element, and the \
         card another one)",
    ),
    (
        XDP_ADJUST_HEAD,
        "the program moves the packet's start only within the head room of the card, which is \
         smaller than that of the kernel",
    ),
    (
        XDP_ADJUST_TAIL,
        "bpf_xdp_adjust_tail only shortens packets (the card refuses to lengthen them, and the \
         kernel can)",
    ),
];

/// Condition that replaces the list of conditions if the analysis cannot find out on which of them
/// the program depends.
const ALL: &str = "the program does the same on the card as in the kernel";

/// Returns the conditions under which a Netronome SmartNIC runs a program with the same effects as
/// the kernel, one sentence each. The list is empty if the SmartNIC refuses the program. If time
/// runs out or the object cannot be linked, a single condition covers the whole program.
pub fn conditions_on_card(object: &Object, program: usize, stop: &Stop) -> Vec<String> {
    let Ok(linked) = object.link(program, None) else { return vec![ALL.to_owned()] };
    let options = CompileOptions { map_abi: MapAbi::ArrayPointer, stop: stop.clone() };
    match slowpath_nfp::compile(object, &linked, &options) {
        Ok(compiled) => {
            let deviations = compiled.deviations.into_iter();
            let deviations =
                deviations.map(|sentence| format!("packets do not depend on this: {sentence}"));
            of_helpers(&linked).map(str::to_owned).chain(deviations).collect()
        }
        Err(CompileError::Stopped(_)) => vec![ALL.to_owned()],
        Err(CompileError::Lift(_) | CompileError::Refused(_)) => Vec::new(),
    }
}

fn of_helpers(linked: &BpfProgram) -> impl Iterator<Item = &'static str> {
    let calls = |helper: i32| linked.insns.contains(&Insn::Call(Call::Helper(helper)));
    OF_HELPERS.into_iter().filter(move |(helper, _)| calls(*helper)).map(|(_, sentence)| sentence)
}
