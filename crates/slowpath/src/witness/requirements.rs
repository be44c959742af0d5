//! Lists the requirements of a path on the state before the program starts, besides packet and
//! maps: values in the context, bytes around the packet, and bytes on the stack.

use crate::result::{InitialBytes, Named, Requirement};
use slowpath_exec::concrete::Environment;
use slowpath_ir::{InputId, InputKind, Program, RegionId, RegionKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Returns the required values of the program's inputs, with their names. The inputs in `clocks`
/// are left out: they are initial times of clocks, and results state the times that calls return
/// instead.
pub(super) fn values(
    program: &Program,
    needed: &BTreeSet<InputId>,
    clocks: &HashSet<InputId>,
    environment: &Environment,
) -> Vec<Requirement> {
    let value = |&id: &InputId| {
        let input = &program.inputs[id.index()];
        // Omits addresses of regions: a program cannot depend on them.
        let listed = input.kind == InputKind::Unknown && !clocks.contains(&id);
        let value = *environment.inputs.get(&id)?;
        listed.then(|| Requirement::Value(Named { name: input.name.clone(), value }))
    };
    needed.iter().filter_map(value).collect()
}

/// Returns the required bytes outside of the packet, which has `length` bytes, and outside of maps.
pub(super) fn memory(
    program: &Program,
    bytes: &BTreeMap<(RegionId, u64), u8>,
    length: u32,
) -> Vec<Requirement> {
    let outside = |region: RegionId, offset: i64| match program.regions[region.index()].kind {
        RegionKind::Packet => !(0..i64::from(length)).contains(&offset),
        RegionKind::Stack | RegionKind::Context => true,
        RegionKind::Map => false,
    };
    let required: BTreeMap<(RegionId, i64), u8> = bytes
        .iter()
        .map(|(&(region, offset), &byte)| ((region, offset as i64), byte))
        .filter(|&((region, offset), _)| outside(region, offset))
        .collect();
    let mut runs: Vec<(RegionId, i64, Vec<u8>)> = Vec::new();
    for ((region, offset), byte) in required {
        match runs.last_mut() {
            Some((last, first, run)) if *last == region && *first + run.len() as i64 == offset => {
                run.push(byte);
            }
            _ => runs.push((region, offset, vec![byte])),
        }
    }
    let shown = |(region, offset, run): (RegionId, i64, Vec<u8>)| {
        Requirement::Memory(InitialBytes {
            memory: program.regions[region.index()].name.clone(),
            offset,
            bytes: run.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    };
    runs.into_iter().map(shown).collect()
}
