//! Finds helper calls that return the same result for all packets, each time that they run.

use crate::analysis::{Analysis, Kind};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::{Call, Insn, Register};

/// A helper call whose result follows from facts about packets and maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownResult {
    /// Slot of the call in the original program.
    pub slot: usize,
    /// Number of the helper in the kernel's `enum bpf_func_id`.
    pub helper: i32,
    /// The return value of the call; `None` if it is the address of a map entry.
    pub value: Option<u64>,
}

/// Returns the helper calls of the entry function whose results are known, in the order of their
/// slots.
pub(crate) fn known_results(graph: &Graph, analysis: &mut Analysis<'_>) -> Vec<KnownResult> {
    let mut found = Vec::new();
    for block in graph.order(0) {
        let Some(mut state) = analysis.entry(block).cloned() else { continue };
        for (place, instr) in graph.blocks[block].insns.iter().enumerate() {
            analysis.step(&mut state, block, place, instr);
            let Instr { op: Op::Insn(Insn::Call(Call::Helper(helper))), origin: slot } = *instr
            else {
                continue;
            };
            let result = state.reg(Register::R0);
            let value = match result.kind {
                Kind::Number(domain) => domain.as_constant().map(Some),
                Kind::MapValue { null: false, .. } => Some(None),
                _ => None,
            };
            found.extend(value.map(|value| KnownResult { slot, helper, value }));
        }
    }
    found.sort_unstable_by_key(|returned| returned.slot);
    found
}
