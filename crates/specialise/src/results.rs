//! What calls of helpers return, where that is the same for all packets, whenever control gets there.

use crate::analysis::{Analysis, Kind};
use crate::graph::{Graph, Instr, Op};
use slowpath_bpf::insn::{Call, Insn, Register};

/// What a call of a helper returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The slot of the call in the original program.
    pub slot: usize,
    /// The number of the helper.
    pub helper: i32,
    /// What it returns; `None` if that is the address of an entry of a map.
    pub value: Option<u64>,
}

/// The calls in the entry function of a program of which it is known what they return, by their slots.
pub(crate) fn returned(graph: &Graph, analysis: &mut Analysis<'_>) -> Vec<Returned> {
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
                Kind::Found { null: false, .. } => Some(None),
                _ => None,
            };
            found.extend(value.map(|value| Returned { slot, helper, value }));
        }
    }
    found.sort_unstable_by_key(|returned| returned.slot);
    found
}
