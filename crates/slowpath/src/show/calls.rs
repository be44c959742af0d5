//! Lists the helpers and kernel functions that a program calls, and the maps that it uses.

use serde::Serialize;
use slowpath_bpf::insn::{Call, Imm64, Insn, POISON, helper, helper_name};
use slowpath_bpf::{BpfProgram, Object};
use std::collections::BTreeMap;

/// A helper or kernel function that a program calls.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Call"))]
pub(super) struct ShownCall {
    /// Name of the helper or kernel function.
    name: String,
    /// Number of instructions of the program that call it.
    calls: usize,
}

/// A map that a program refers to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MapUse"))]
pub(super) struct ShownMapUse {
    /// Name of the map.
    name: String,
    /// Uses of the map: names of helpers without `bpf_`, and `access` for direct accesses to
    /// values.
    uses: Vec<String>,
}

/// Returns two lists: the helpers that a program calls, in the order of their numbers, and the
/// kernel functions that it calls, by name.
pub(super) fn of(program: &BpfProgram) -> (Vec<ShownCall>, Vec<ShownCall>) {
    let mut helpers = BTreeMap::<i32, usize>::new();
    let mut functions = BTreeMap::<String, usize>::new();
    for insn in &program.insns {
        match *insn {
            Insn::Call(Call::Helper(number)) if number != POISON => {
                *helpers.entry(number).or_default() += 1;
            }
            Insn::Call(Call::Kfunc { id, .. }) => {
                let name = usize::try_from(id).ok().and_then(|id| program.kfuncs.get(id));
                let name = name.cloned().unwrap_or_else(|| format!("kernel function {id}"));
                *functions.entry(name).or_default() += 1;
            }
            _ => {}
        }
    }
    let helper = |(number, calls)| {
        let name = helper_name(number).map_or_else(|| format!("helper {number}"), str::to_owned);
        ShownCall { name, calls }
    };
    let function = |(name, calls)| ShownCall { name, calls };
    (helpers.into_iter().map(helper).collect(), functions.into_iter().map(function).collect())
}

/// Returns the maps that a program uses, in the order of the object. Each has the names of the
/// helpers to which it is passed. To find the map of a call, the function follows the instructions
/// before the call.
pub(super) fn maps(object: &Object, program: &BpfProgram) -> Vec<ShownMapUse> {
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    // Maps last loaded into the first and second argument register.
    let mut arguments: [Option<u32>; 2] = [None; 2];
    for insn in &program.insns {
        match *insn {
            Insn::LoadImm64 { dst, value: Imm64::Map(map) } => {
                found.entry(map).or_default();
                let number = usize::from(dst.number()).wrapping_sub(1);
                if let Some(argument) = arguments.get_mut(number) {
                    *argument = Some(map);
                }
            }
            Insn::LoadImm64 { value: Imm64::MapValue { map, .. }, .. } => {
                note(&mut found, map, "access");
            }
            Insn::Call(Call::Helper(number)) => {
                let map = arguments[helper::map_register(number) - 1];
                if let (Some(map), Some(name)) = (map, helper_name(number)) {
                    note(&mut found, map, name.strip_prefix("bpf_").unwrap_or(name));
                }
                arguments = [None; 2];
            }
            Insn::Call(_) => arguments = [None; 2],
            _ => {}
        }
    }
    let named = |(map, uses): (u32, Vec<String>)| {
        Some(ShownMapUse { name: object.maps.get(map as usize)?.name.clone(), uses })
    };
    found.into_iter().filter_map(named).collect()
}

fn note(found: &mut BTreeMap<u32, Vec<String>>, map: u32, name: &str) {
    let uses = found.entry(map).or_default();
    if !uses.iter().any(|known| known == name) {
        uses.push(name.to_owned());
    }
}
