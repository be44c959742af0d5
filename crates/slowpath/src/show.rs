//! What a BPF object contains, as data: programs, maps, calls, what is unresolved, listings.
//!
//! Nothing is analysed here: an object may be shown whose programs no front end lifts. The format
//! is documented in `docs/json.md`.

use crate::Error;
use serde::Serialize;
use slowpath_bpf::insn::{Call, Insn, POISON, helper_name};
use slowpath_bpf::{BpfProgram, Btf, MapDef, Object};
use std::collections::BTreeMap;

#[derive(Serialize)]
struct ShownObject {
    file: String,
    license: Option<String>,
    programs: Vec<ShownProgram>,
    maps: Vec<ShownMap>,
    error: Option<String>,
}

#[derive(Default, Serialize)]
struct ShownProgram {
    section: String,
    name: String,
    kind: String,
    /// 8-byte slots, as the kernel counts.
    instructions: usize,
    /// How many of them have a known source line.
    instructions_with_source: usize,
    subprograms: Vec<ShownSubprogram>,
    helpers: Vec<ShownCall>,
    kernel_functions: Vec<ShownCall>,
    unresolved: Vec<ShownUnresolved>,
    error: Option<String>,
    listing: Option<Vec<ShownInsn>>,
}

#[derive(Serialize)]
struct ShownSubprogram {
    name: String,
    first: usize,
    global: bool,
}

#[derive(Serialize)]
struct ShownCall {
    name: String,
    calls: usize,
}

#[derive(Serialize)]
struct ShownUnresolved {
    instruction: usize,
    reason: String,
}

#[derive(Serialize)]
struct ShownInsn {
    instruction: usize,
    text: String,
    source: Option<ShownLine>,
}

#[derive(Serialize)]
struct ShownLine {
    file: String,
    line: u32,
    text: String,
}

#[derive(Serialize)]
struct ShownMap {
    name: String,
    kind: String,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

/// Shows the BPF object in `data` as JSON; `file` is the name it is given there.
///
/// `btf` is the type information of the kernel that the programs are for; without it, what depends
/// on the kernel's types is listed as unresolved. A program that cannot be linked says so in its
/// entry and leaves the others alone. Errors: the object or `btf` (then the message starts with
/// `--btf: `) cannot be read.
pub fn show(file: &str, data: &[u8], btf: Option<&[u8]>) -> Result<String, Error> {
    let kernel = btf.map(Btf::parse).transpose();
    let kernel = kernel.map_err(|error| Error::Input(format!("--btf: {error}")))?;
    let object = Object::parse(data).map_err(|error| Error::Input(error.to_string()))?;
    let shown = ShownObject {
        file: file.to_owned(),
        license: object.license.clone(),
        programs: (0..object.programs.len())
            .map(|i| program(&object, i, kernel.as_ref()))
            .collect(),
        maps: object.maps.iter().map(map).collect(),
        error: None,
    };
    serde_json::to_string(&shown).map_err(|error| Error::Panic(error.to_string()))
}

fn program(object: &Object, index: usize, kernel: Option<&Btf>) -> ShownProgram {
    let entry = &object.programs[index];
    let shown = ShownProgram {
        section: entry.section.clone(),
        name: entry.name.clone(),
        kind: entry.kind.to_string(),
        ..ShownProgram::default()
    };
    let linked = match object.link(index, kernel) {
        Ok(linked) => linked,
        Err(error) => return ShownProgram { error: Some(error.to_string()), ..shown },
    };
    let (helpers, kernel_functions) = calls(&linked);
    let subprogram = |s: &slowpath_bpf::Subprogram| ShownSubprogram {
        name: s.name.clone(),
        first: s.first,
        global: s.global,
    };
    let unresolved = |u: &slowpath_bpf::Unresolved| ShownUnresolved {
        instruction: u.insn,
        reason: u.what.clone(),
    };
    ShownProgram {
        instructions: linked.insns.len(),
        instructions_with_source: linked.lines.iter().flatten().count(),
        // The first is the program itself.
        subprograms: linked.subprograms.iter().skip(1).map(subprogram).collect(),
        helpers,
        kernel_functions,
        unresolved: linked.unresolved.iter().map(unresolved).collect(),
        listing: Some(listing(object, &linked)),
        ..shown
    }
}

/// Calls of helpers, in the order of their numbers, and of kernel functions, by name.
fn calls(program: &BpfProgram) -> (Vec<ShownCall>, Vec<ShownCall>) {
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

fn listing(object: &Object, program: &BpfProgram) -> Vec<ShownInsn> {
    let slots = program.insns.iter().enumerate().filter(|(_, insn)| **insn != Insn::SecondSlot);
    let shown = |(slot, _): (usize, &Insn)| ShownInsn {
        instruction: slot,
        text: program.disassemble(object, slot),
        source: program.lines.get(slot).and_then(Option::as_ref).map(|line| ShownLine {
            file: line.file.to_string(),
            line: line.line,
            text: line.text.to_string(),
        }),
    };
    slots.map(shown).collect()
}

fn map(map: &MapDef) -> ShownMap {
    ShownMap {
        name: map.name.clone(),
        kind: map.kind.to_string(),
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
    }
}
