//! Finds the programs and maps that a program can reach, and the kernel functions that it calls.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::btf::Kind;
use slowpath_bpf::insn::{Call, Imm64, Insn};
use slowpath_bpf::{BpfProgram, Btf, Object, ProgramKind, SlotRef};

use crate::error::LoadError;

/// The linked programs and the maps that a program can reach through its instructions and program
/// arrays, by their indices in the object.
#[derive(Default)]
pub struct Reachable {
    pub programs: BTreeMap<usize, BpfProgram>,
    pub maps: BTreeSet<usize>,
}

/// Links an XDP program and all programs that it can reach by tail calls through program arrays.
/// `kernel` returns the BTF types of the running kernel. It is called only if a program depends on
/// them.
pub fn find_reachable<'k>(
    object: &Object,
    program: usize,
    kernel: &dyn Fn() -> Option<&'k Btf>,
) -> Result<Reachable, LoadError> {
    find_reachable_of(object, program, &[], kernel)
}

/// Like [`find_reachable`], but the programs may also have one of the types in `types`.
pub fn find_reachable_of<'k>(
    object: &Object,
    program: usize,
    types: &[ProgramKind],
    kernel: &dyn Fn() -> Option<&'k Btf>,
) -> Result<Reachable, LoadError> {
    let mut found = Reachable::default();
    let mut programs = vec![program];
    while let Some(number) = programs.pop() {
        if found.programs.contains_key(&number) {
            continue;
        }
        let linked = linked(object, number, types, kernel)?;
        let mut maps: Vec<usize> = linked.insns.iter().filter_map(map_of).collect();
        found.programs.insert(number, linked);
        while let Some(map) = maps.pop() {
            let Some(def) = object.maps.get(map).filter(|_| found.maps.insert(map)) else {
                continue;
            };
            for (_, slot) in &def.slots {
                match *slot {
                    SlotRef::Program(program) => programs.push(program),
                    SlotRef::Map(map) => maps.push(map),
                }
            }
        }
    }
    Ok(found)
}

fn map_of(insn: &Insn) -> Option<usize> {
    match *insn {
        Insn::LoadImm64 { value: Imm64::Map(map) | Imm64::MapValue { map, .. }, .. } => {
            usize::try_from(map).ok()
        }
        _ => None,
    }
}

/// Links a program, and fills in the ids of the kernel functions that it calls.
fn linked<'k>(
    object: &Object,
    number: usize,
    types: &[ProgramKind],
    kernel: &dyn Fn() -> Option<&'k Btf>,
) -> Result<BpfProgram, LoadError> {
    let mut program = object.link(number, None)?;
    let kind = program.kind;
    if !kind.is_xdp() && !types.contains(&kind) {
        return Err(LoadError::NotXdp { program: program.name, kind });
    }
    if program.unresolved.is_empty() && program.kfuncs.is_empty() {
        return Ok(program);
    }
    let known_types = kernel();
    if known_types.is_some() {
        program = object.link(number, known_types)?;
    }
    let BpfProgram { name, kfuncs, insns, .. } = &mut program;
    for insn in insns {
        let Insn::Call(Call::Kfunc { id, .. }) = insn else { continue };
        let called = usize::try_from(*id).ok().and_then(|index| kfuncs.get(index));
        let function = called.map_or("a function without name", String::as_str);
        let known =
            known_types.and_then(|t| t.find(function, |kind| matches!(kind, Kind::Func { .. })));
        let known = known.and_then(|known| i32::try_from(known.0).ok());
        *id = known.ok_or_else(|| {
            let (program, function) = (name.clone(), function.to_owned());
            LoadError::NoKernelFunction { program, function }
        })?;
    }
    Ok(program)
}
