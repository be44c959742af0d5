//! Finds instructions that may change a map. A map can be frozen only if no instruction changes it.

use crate::analysis::{Analysis, AnalysisInputs, Kind, State, Value};
use crate::error::SpecialiseError;
use crate::frozen::is_read_only;
use crate::graph::{BlockId, Graph, Instr, Op};
use crate::helpers;
use slowpath_bpf::insn::{Call, Imm64, Insn, helper};
use slowpath_bpf::lift::Receive;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_stop::{Reason as StopReason, Stop};

/// Returns the slot of an instruction that may change the content of the map with index `map`.
/// Returns `None` if the program certainly does not change this map.
///
/// # Errors
/// The outer error states that a jump leads to a slot without an instruction. The inner error is
/// the reason why the search stopped early.
pub fn writer(
    object: &Object,
    program: &BpfProgram,
    map: u32,
    stop: &Stop,
) -> Result<Result<Option<usize>, StopReason>, SpecialiseError> {
    let named = |insn: &Insn| match insn {
        Insn::LoadImm64 {
            value: Imm64::Map(number) | Imm64::MapValue { map: number, .. }, ..
        } => *number == map,
        _ => false,
    };
    let unwritten = object.maps.get(map as usize).is_some_and(is_read_only);
    if unwritten || !program.insns.iter().any(named) {
        return Ok(Ok(None));
    }
    let graph = Graph::of(program)?;
    let facts = PacketFacts::lengths(0, u16::MAX);
    let whole = !program.accepts_fragments();
    let (facts, constants) = (&facts, Vec::new());
    let inputs =
        AnalysisInputs { facts, constants, frozen: None, receive: Receive::ANY, contiguous: whole };
    Ok(Analysis::of(&graph, &inputs, stop).map(|analysis| found(&graph, analysis, program, map)))
}

fn found(
    graph: &Graph,
    mut analysis: Analysis<'_>,
    program: &BpfProgram,
    map: u32,
) -> Option<usize> {
    // The arguments of functions are not analysed, so any store in a function may change the map.
    let entry = program.subprograms.get(1).map_or(program.insns.len(), |next| next.first);
    let stores = |insn: &Insn| {
        let frame = |base: &slowpath_bpf::insn::Register| base.number() == 10;
        match insn {
            Insn::Store { base, .. }
            | Insn::Atomic { base, .. }
            | Insn::StoreRelease { base, .. } => !frame(base),
            Insn::Call(Call::Helper(number)) => {
                helpers::effect(*number).writes
                    || (1..=3).contains(number) && *number != helper::MAP_LOOKUP_ELEM
            }
            Insn::Call(Call::Kfunc { .. }) => true,
            _ => false,
        }
    };
    let behind = (entry..program.insns.len()).find(|&slot| stores(&program.insns[slot]));
    if behind.is_some() {
        return behind;
    }
    let calls = |block: BlockId, place: usize| {
        let instr = graph.blocks[block].insns.get(place);
        instr.is_some_and(|instr| matches!(instr.op, Op::Call(_) | Op::Insn(Insn::Call(_))))
    };
    for block in graph.order(0) {
        let mut states: Vec<(Instr, State)> = Vec::new();
        analysis.walk(graph, block, |_, instr, state| states.push((*instr, state.clone())));
        for (instr, state) in &states {
            let may = |value: &Value| may_be(value, map) && !analysis.is_clobbered(value, calls);
            let changes = match instr.op {
                Op::Insn(
                    Insn::Store { base, .. }
                    | Insn::Atomic { base, .. }
                    | Insn::StoreRelease { base, .. },
                ) => may(state.reg(base)),
                Op::Insn(Insn::Call(Call::Helper(number))) => {
                    let effect = helpers::effect(number);
                    let arguments = &state.regs[1..=usize::from(effect.arguments)];
                    let given = analysis.map_argument(state);
                    let finds = number == helper::MAP_LOOKUP_ELEM || number == helper::REDIRECT_MAP;
                    // All other operations on this map, or on an unknown map, count as changes.
                    let unknown = given.is_none() && takes_map(number);
                    (effect.writes && arguments.iter().any(may))
                        || (!finds && (given == Some(map) || unknown))
                }
                Op::Insn(Insn::Call(_)) | Op::Call(_) => {
                    state.regs[1..=5].iter().any(may) || analysis.map_argument(state) == Some(map)
                }
                _ => false,
            };
            if changes {
                return Some(instr.origin);
            }
        }
    }
    None
}

/// Returns true if the helper with this number (`enum bpf_func_id`) may change the map that is its
/// first argument.
fn takes_map(number: i32) -> bool {
    [helper::MAP_UPDATE_ELEM, helper::MAP_DELETE_ELEM].contains(&number)
}

/// Returns true if a value may point to an element of the map with the index `map`.
fn may_be(value: &Value, map: u32) -> bool {
    match value.kind {
        Kind::MapValue { map: found, .. } => found == map,
        Kind::NumberOrOtherAddress | Kind::Any => true,
        Kind::GlobalData { map: data, .. } => data == map,
        Kind::Number(_)
        | Kind::Packet { .. }
        | Kind::SomewhereInPacket
        | Kind::PacketEnd
        | Kind::Stack(_)
        | Kind::Context => false,
    }
}

#[cfg(test)]
mod tests;
