//! Tests objects that slowpath writes. The running kernel must load them, and their programs must
//! have the same results as those of the compiler's objects. libbpf must parse and load them, too.

use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use slowpath_bpf::{BpfProgram, MapKind, Object, ProgramKind};
use slowpath_kernel::{Kernel, LoadedProgram};
use slowpath_oracle::Oracle;
use support::{kernel, object, packets, path};

/// Folder in which programs and maps are pinned.
const PINS: &str = "/sys/fs/bpf";

/// Returns all objects in the source tree that were compiled for the Linux kernel.
fn objects() -> Vec<PathBuf> {
    let folders = [
        "../../examples",
        "tests/objects",
        "../slowpath/tests/objects",
        "../measure/tests/objects",
        "../../tests/objects",
    ];
    let entries = folders.iter().map(|folder| std::fs::read_dir(path(folder)));
    let paths = entries.flatten().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        paths.filter(|path| path.to_string_lossy().ends_with(".bpf.o")).collect();
    found.sort();
    found
}

/// Returns the programs that the running kernel loads, each linked and loaded. Removes all other
/// programs from the slots of program arrays.
fn linked(kernel: &Kernel, object: &mut Object) -> Vec<(BpfProgram, LoadedProgram)> {
    let numbers = 0..object.programs.len();
    let linked: Vec<_> = numbers
        .filter(|&number| object.programs[number].kind == ProgramKind::Xdp)
        .filter_map(|number| {
            let loaded = kernel.load(object, number).ok()?;
            let program = object.link(number, kernel.types()).ok()?;
            program.unresolved.is_empty().then_some((program, loaded))
        })
        .collect();
    for map in &mut object.maps {
        map.slots.retain(|(_, slot)| match slot {
            slowpath_bpf::SlotRef::Program(number) => {
                linked.iter().any(|(p, _)| p.number == *number)
            }
            slowpath_bpf::SlotRef::Map(_) => true,
        });
    }
    linked
}

/// Writes an object that contains only the given programs.
fn written(object: &Object, programs: &[(BpfProgram, LoadedProgram)]) -> Vec<u8> {
    let programs: Vec<&BpfProgram> = programs.iter().map(|(program, _)| program).collect();
    object.write(&programs).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the content of all maps that can be read, by name.
fn contents(loaded: &LoadedProgram, object: &Object) -> Vec<(String, Vec<Vec<Vec<u8>>>)> {
    let maps = object.maps.iter().filter_map(|def| loaded.map(&def.name));
    let content = maps.filter_map(|map| {
        let kind = map.definition().kind;
        if kind.holds_maps() || kind == MapKind::PROG_ARRAY {
            // The ids of programs and maps differ between the two loads.
            return None;
        }
        let mut keys = map.keys().ok()?;
        keys.sort();
        let values: Result<Vec<_>, _> = keys.iter().map(|key| map.lookup_all(key)).collect();
        let values = values.ok()?.into_iter().flatten().collect();
        Some((map.definition().name.clone(), values))
    });
    content.collect::<Vec<(String, Vec<Vec<Vec<u8>>>)>>()
}

#[test]
fn the_kernel_loads_what_is_written_and_it_does_the_same() {
    let Some(kernel) = kernel() else { return };
    let (mut faults, mut loads) = (Vec::new(), 0);
    for path in objects() {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut before = object(&path);
        let programs = linked(&kernel, &mut before);
        if programs.is_empty() {
            continue;
        }
        let after = Object::parse(&written(&before, &programs)).unwrap_or_else(|e| panic!("{e}"));
        for (number, (program, _)) in programs.iter().enumerate() {
            let name = format!("{file}, {}", program.name);
            let loaded = kernel
                .load(&before, program.number)
                .and_then(|first| Ok((first, kernel.load(&after, number)?)));
            let (first, second) = match loaded {
                Ok(loaded) => loaded,
                Err(fault) => {
                    faults.push(format!("{name}: {fault}"));
                    continue;
                }
            };
            loads += 1;
            for (kind, packet) in packets() {
                let run = |of: &LoadedProgram| {
                    of.run(&packet, 1).map(|run| (run.return_value, run.packet, run.metadata))
                };
                // Devmap programs have no test runs.
                let (Ok(expected), Ok(found)) = (run(&first), run(&second)) else { continue };
                if expected != found && !asks_for_chance(program) {
                    faults.push(format!("{name}, {kind}: {expected:?} {found:?}"));
                }
            }
            if contents(&first, &before) != contents(&second, &after) && !asks_for_chance(program) {
                faults.push(format!("{name}: maps differ"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(loads >= 60, "{loads} programs");
    Oracle::Kernel.compared(loads, "programs that were written");
}

/// Returns true if a program calls helpers whose results can differ between two copies of the
/// program: the time, the CPU, a random number, or a kernel table that both copies change.
fn asks_for_chance(program: &BpfProgram) -> bool {
    use slowpath_bpf::insn::{Call, Insn};
    let changing = [5, 7, 8, 125, 160];
    let is = |insn: &Insn| matches!(insn, Insn::Call(Call::Helper(n)) if changing.contains(n));
    !program.kfuncs.is_empty() || program.insns.iter().any(is)
}

/// Returns the command bpftool, which loads objects with libbpf. If it is missing, reports the
/// reason for skipping the test.
fn bpftool() -> Option<Command> {
    let names = ["bpftool", "/usr/sbin/bpftool", "/sbin/bpftool"];
    let works = |name: &&str| {
        Command::new(name).arg("version").output().is_ok_and(|output| output.status.success())
    };
    let found = names.into_iter().find(works).map(Command::new);
    if found.is_none() {
        Oracle::Libbpf.missing("there is no bpftool; try apt-get install bpftool");
    } else if !Path::new(PINS).is_dir() {
        Oracle::Libbpf.missing("no file system for pins; try mount -t bpf bpf /sys/fs/bpf");
        return None;
    }
    found
}

/// Loads all programs of an object with libbpf. Returns libbpf's messages if this fails.
fn load_all(bytes: &[u8]) -> Result<(), String> {
    let own = format!("slowpath-written-{}", std::process::id());
    let (file, pins) = (std::env::temp_dir().join(&own), Path::new(PINS).join(&own));
    std::fs::write(&file, bytes).map_err(|e| e.to_string())?;
    let output = bpftool()
        .ok_or("there is no bpftool")?
        .args(["prog", "loadall"])
        .arg(&file)
        .arg(&pins)
        .output();
    let removed = std::fs::remove_dir_all(&pins);
    std::fs::remove_file(&file).map_err(|e| e.to_string())?;
    let output = output.map_err(|e| e.to_string())?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(messages);
    }
    removed.map_err(|e| e.to_string())?;
    // Types are optional for libbpf, but this test requires them.
    if messages.contains("Error loading .BTF") || messages.contains("failed") {
        Err(messages)
    } else {
        Ok(())
    }
}

#[test]
fn libbpf_loads_what_is_written() {
    let Some(kernel) = kernel() else { return };
    if bpftool().is_none() {
        return;
    }
    let (mut faults, mut refused, mut loads) = (Vec::new(), Vec::new(), 0);
    for path in objects() {
        let mut object = object(&path);
        let programs = linked(&kernel, &mut object);
        if programs.is_empty() {
            continue;
        }
        match load_all(&written(&object, &programs)) {
            Ok(()) => loads += programs.len(),
            // libbpf rejects the originals, too: a map without elements, kernel functions with
            // parameters of another type, and, on some kernels, inner maps of different sizes.
            Err(_) if load_all(&std::fs::read(&path).unwrap_or_default()).is_err() => {
                refused.push(path);
            }
            Err(messages) => faults.push(format!("{}: {messages}", path.display())),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let known = ["maps.bpf.o", "conntrack.bpf.o", "seams.bpf.o"];
    refused.retain(|path| !known.iter().any(|name| path.ends_with(name)));
    assert!(refused.is_empty(), "libbpf does not load the originals either: {refused:?}");
    assert!(loads >= 60, "{loads} programs");
    Oracle::Libbpf.compared(loads, "programs that were written");
}
