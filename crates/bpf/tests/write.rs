//! Tests that written BPF objects are read back with the same maps, instructions, source lines and
//! license. The tests use all objects of the repository, and random programs.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use slowpath_bpf::btf::Kind;
use slowpath_bpf::insn::{Call, Imm64, Insn};
use slowpath_bpf::{BpfProgram, Btf, MapDef, MapKind, Object, SlotRef, WriteError};
use slowpath_generate::{Features, programs, sequence};

const FEATURES: &[u8] = include_bytes!("data/features.bpf.o");
const LEGACY: &[u8] = include_bytes!("data/legacy.bpf.o");
const EXTERN: &[u8] = include_bytes!("data/extern.bpf.o");
const KERNEL: &[u8] = include_bytes!("data/core_kernel.bpf.o");

fn parse(data: &[u8]) -> Object {
    Object::parse(data).unwrap_or_else(|e| panic!("{e}"))
}

fn kernel() -> Btf {
    parse(KERNEL).btf.expect("BTF")
}

fn objects() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("examples"), root.join("tests/objects")];
    for entry in std::fs::read_dir(root.join("crates")).expect("crates").flatten() {
        folders.extend(["tests/objects", "tests/data"].map(|below| entry.path().join(below)));
    }
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<_> =
        paths.filter(|path| path.to_string_lossy().ends_with(".bpf.o")).collect();
    found.sort();
    found
}

fn link_all(object: &Object, kernel: &Btf) -> Vec<BpfProgram> {
    let numbers = 0..object.programs.len();
    numbers.map(|n| object.link(n, Some(kernel)).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Removes the parts of a map definition that differ between the forms of definitions in object
/// files: key and value types, value sizes of maps of maps and program arrays, and names of inner
/// maps.
fn plain(def: &MapDef) -> MapDef {
    let holds = def.kind.holds_maps() || def.kind == MapKind::PROG_ARRAY;
    let inner =
        def.inner.as_deref().map(|inner| Box::new(MapDef { name: String::new(), ..plain(inner) }));
    MapDef {
        value_size: if holds { 4 } else { def.value_size },
        key_size: if holds && def.key_size == 0 { 4 } else { def.key_size },
        inner,
        ..def.clone()
    }
}

/// Writes programs, reads the written object back, compares the two, and returns the object that
/// was read.
fn round_trip(object: &Object, linked: &[BpfProgram]) -> Result<Object, String> {
    let all: Vec<&BpfProgram> = linked.iter().collect();
    let bytes = object.write(&all).map_err(|e| e.to_string())?;
    let read = Object::parse(&bytes).map_err(|e| format!("read back: {e}"))?;
    let same = |what: &str, same: bool| if same { Ok(()) } else { Err(format!("{what} differ")) };
    let maps = |object: &Object| object.maps.iter().map(plain).collect::<Vec<_>>();
    if maps(object) != maps(&read) {
        return Err(format!("maps differ: {:#?} {:#?}", maps(object), maps(&read)));
    }
    same("licenses", object.license == read.license)?;
    let variables = |object: &Object| {
        let key = |v: &slowpath_bpf::Variable| (v.map, v.offset, v.size, v.name.clone());
        let mut all: Vec<_> = object.variables.iter().map(key).collect();
        all.sort();
        all
    };
    same("variables", variables(object) == variables(&read))?;
    let entries = |object: &Object, of: &[&BpfProgram]| {
        let entry =
            |p: &&BpfProgram| (p.name.clone(), p.section.clone(), object.programs[p.number].kind);
        of.iter().map(entry).collect::<Vec<_>>()
    };
    let again: Result<Vec<_>, _> = (0..read.programs.len()).map(|n| read.link(n, None)).collect();
    let again = again.map_err(|e| format!("linked again: {e}"))?;
    let found: Vec<&BpfProgram> = again.iter().collect();
    if entries(object, &all) != entries(&read, &found) {
        return Err(format!("{:?} {:?}", entries(object, &all), entries(&read, &found)));
    }
    for (before, after) in linked.iter().zip(&again) {
        let name = &before.name;
        same(&format!("instructions of {name}"), before.insns == after.insns)?;
        same(&format!("lines of {name}"), before.lines == after.lines)?;
        same(&format!("kernel functions of {name}"), before.kfuncs == after.kfuncs)?;
        let functions = |program: &BpfProgram| {
            let mut all: Vec<_> =
                program.subprograms.iter().map(|s| (s.name.clone(), s.first, s.global)).collect();
            // Entry functions are written as global functions.
            all[0].2 = true;
            all
        };
        if functions(before) != functions(after) {
            return Err(format!("functions: {:?} {:?}", functions(before), functions(after)));
        }
        same("unresolved instructions", after.unresolved.is_empty())?;
    }
    Ok(read)
}

#[test]
fn every_object_is_read_back_unchanged() {
    let (kernel, mut faults, mut written) = (kernel(), Vec::new(), 0);
    for path in objects() {
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&path).display();
        let object = parse(&std::fs::read(&path).expect("readable"));
        let mut linked = link_all(&object, &kernel);
        // Programs with unresolved instructions are rejected.
        for program in linked.iter().filter(|program| !program.unresolved.is_empty()) {
            let refused = object.write(&[program]).expect_err("not resolved").to_string();
            let expected = format!("program {}, section ", program.name);
            assert!(
                refused.starts_with(&expected) && refused.contains("not resolved"),
                "{refused}"
            );
        }
        linked.retain(|program| program.unresolved.is_empty());
        if linked.is_empty() {
            continue;
        }
        match round_trip(&object, &linked) {
            Ok(read) => {
                written += linked.len();
                // A second round trip must not change it.
                let again = round_trip(&read, &link_all(&read, &kernel));
                faults.extend(again.err().map(|fault| format!("{name}, again: {fault}")));
            }
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(written >= 150, "{written} programs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_programs_are_read_back_unchanged(program in programs(Features::default(), 12)) {
        let object = parse(&program.object());
        let linked = link_all(&object, &Btf::clone(&kernel()));
        if let Err(fault) = round_trip(&object, &linked) {
            return Err(TestCaseError::fail(fault));
        }
    }

    #[test]
    fn random_maps_are_read_back_unchanged(seed in any::<u64>()) {
        let sequence = sequence::Sequences::new(sequence::SequenceFeatures::default()).from_seed(seed);
        let object = parse(&sequence.object());
        let linked = link_all(&object, &kernel());
        if let Err(fault) = round_trip(&object, &linked) {
            return Err(TestCaseError::fail(fault));
        }
    }

    /// Checks that a map definition that was changed after parsing still has the change when the
    /// object is written and read back.
    #[test]
    fn changed_maps_are_read_back_with_their_changes(
        which in any::<prop::sample::Index>(),
        entries in 1..1u32 << 20,
        flags in 0..16u32,
        extra in 0..8u64,
    ) {
        let mut object = parse(FEATURES);
        let defined: Vec<usize> =
            (0..object.maps.len()).filter(|n| object.maps[*n].initial.is_none()).collect();
        let def = &mut object.maps[defined[which.index(defined.len())]];
        (def.max_entries, def.flags, def.extra) = (entries.max(def.max_entries), flags, extra);
        let linked = link_all(&object, &kernel());
        if let Err(fault) = round_trip(&object, &linked) {
            return Err(TestCaseError::fail(fault));
        }
    }
}

fn named<'a>(programs: &'a [BpfProgram], name: &str) -> &'a BpfProgram {
    programs.iter().find(|program| program.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn features() -> (Object, Vec<BpfProgram>) {
    let object = parse(FEATURES);
    let linked = link_all(&object, &kernel());
    (object, linked)
}

fn written(object: &Object, programs: &[&BpfProgram]) -> Object {
    parse(&object.write(programs).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn types_describe_positions_of_variables() {
    let (object, linked) = features();
    let read = written(&object, &linked.iter().collect::<Vec<_>>());
    let btf = read.btf.as_ref().expect("types");
    let mut found = Vec::new();
    for (id, ty) in btf.types() {
        let Kind::DataSec { size, vars } = &ty.kind else { continue };
        let section = btf.type_name(id);
        let map = read.maps.iter().position(|map| map.name == section);
        for var in vars {
            let name = btf.type_name(var.ty);
            assert!(var.offset + var.size <= *size, "{name}");
            if let Some(map) = map {
                assert_eq!(read.maps[map].value_size, *size);
                let variable = read.variables.iter().find(|v| v.name == name && v.map == map);
                let variable = variable.unwrap_or_else(|| panic!("no {name}"));
                let place = (u64::from(var.offset), u64::from(var.size));
                assert_eq!((variable.offset, variable.size), place, "{name}");
            }
            found.push((section, name));
        }
    }
    for expected in
        [(".rodata", "limit"), (".data", "counter"), (".bss", "zeroed"), (".maps", "flows")]
    {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
}

#[test]
fn only_given_programs_are_written() {
    let (object, linked) = features();
    let refused = object.write(&[named(&linked, "xdp_main")]).expect_err("others are in slots");
    assert!(matches!(&refused, WriteError::Map { .. }), "{refused}");
    assert_eq!(refused.to_string(), "map jumps: a slot holds a program that is not written");
    let mut alone = object.clone();
    for map in &mut alone.maps {
        map.slots.retain(|(_, slot)| !matches!(slot, SlotRef::Program(_)));
    }
    let read = written(&alone, &[named(&linked, "xdp_main")]);
    assert_eq!(read.programs.len(), 1);
    assert_eq!(object.write(&[]), Err(WriteError::NoProgram));
}

#[test]
fn shared_functions_are_written_once() {
    let (mut object, linked) = features();
    object.maps.iter_mut().for_each(|map| map.slots.clear());
    let main = named(&linked, "xdp_main");
    let functions = |variant: &BpfProgram| {
        let variant = BpfProgram { name: "variant".to_owned(), ..variant.clone() };
        let read = written(&object, &[main, &variant]);
        let linked = link_all(&read, &kernel());
        assert_eq!(linked[0].insns, main.insns);
        assert_eq!(linked[1].insns, variant.insns);
        let names = |p: &BpfProgram| -> Vec<String> {
            p.subprograms[1..].iter().map(|s| s.name.clone()).collect()
        };
        let types = read.btf.expect("types");
        for name in names(&linked[1]) {
            let is_function = |kind: &Kind| matches!(kind, Kind::Func { .. });
            assert!(types.find(&name, is_function).is_some(), "{name}");
        }
        (names(&linked[0]), names(&linked[1]))
    };
    let (first, second) = functions(main);
    assert_eq!(first, second);
    assert_eq!(first, ["count", "classify", "checksum", "replaceable"]);
    // A changed function duplicates its callers, but no other functions.
    let mut changed = main.clone();
    let start = changed.subprograms[3].first;
    let place = (start..changed.insns.len()).find_map(|slot| match changed.insns[slot] {
        Insn::Alu { op, dst, width, src: slowpath_bpf::insn::Source::Imm(_) } => {
            Some((slot, Insn::Alu { op, dst, width, src: slowpath_bpf::insn::Source::Imm(77) }))
        }
        _ => None,
    });
    let (slot, insn) = place.expect("an immediate");
    changed.insns[slot] = insn;
    let (first, second) = functions(&changed);
    assert_eq!(first, ["count", "classify", "checksum", "replaceable"]);
    assert!(second.contains(&"checksum_2".to_owned()), "{second:?}");
    assert!(second.contains(&"count".to_owned()), "{second:?}");
}

#[test]
fn joined_objects_become_one_file() {
    let (first, second) = (parse(FEATURES), parse(FEATURES));
    let parts = ["first", "second"].into_iter().zip([&first, &second]);
    let parts: Vec<_> = parts.map(|(name, object)| slowpath_bpf::Part { name, object }).collect();
    let joined = Object::join(&parts, |_, _| false).object;
    let linked = link_all(&joined, &kernel());
    let read = written(&joined, &linked.iter().collect::<Vec<_>>());
    assert_eq!(read.maps.len(), joined.maps.len());
    assert_eq!(read.programs.len(), joined.programs.len());
    // Definitions come before global data.
    let mut order: Vec<usize> = (0..joined.maps.len()).collect();
    order.sort_by_key(|map| joined.maps[*map].initial.is_some());
    let place = |map: u32| order.iter().position(|of| *of == map as usize).unwrap_or(0) as u32;
    let moved = |insn: &Insn| match *insn {
        Insn::LoadImm64 { dst, value: Imm64::Map(map) } => {
            Insn::LoadImm64 { dst, value: Imm64::Map(place(map)) }
        }
        Insn::LoadImm64 { dst, value: Imm64::MapValue { map, offset } } => {
            Insn::LoadImm64 { dst, value: Imm64::MapValue { map: place(map), offset } }
        }
        insn => insn,
    };
    let again = link_all(&read, &kernel());
    for before in &linked {
        let expected: Vec<Insn> = before.insns.iter().map(moved).collect();
        let same = |after: &&BpfProgram| after.insns == expected && after.lines == before.lines;
        assert!(again.iter().any(|after| same(&after)), "{}", before.name);
    }
    for (number, &before) in order.iter().enumerate() {
        let (before, after) = (&joined.maps[before], &read.maps[number]);
        let valid = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        assert!(after.name.chars().all(valid), "{}", after.name);
        let unnamed = |def: &MapDef| {
            // The indices of programs in slots differ as well.
            MapDef { name: String::new(), slots: Vec::new(), ..plain(def) }
        };
        assert_eq!(unnamed(before), unnamed(after));
        assert_eq!(before.slots.len(), after.slots.len());
    }
}

#[test]
fn unwritable_programs_give_errors() {
    let (mut object, linked) = features();
    object.maps.iter_mut().for_each(|map| map.slots.clear());
    let main = named(&linked, "xdp_main");
    let refused = |object: &Object, change: &dyn Fn(&mut BpfProgram)| {
        let mut program = main.clone();
        change(&mut program);
        let text = object.write(&[&program]).expect_err("refused").to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    let wide = |program: &mut BpfProgram, value: Imm64| {
        let slot = program.insns.iter().position(|i| matches!(i, Insn::LoadImm64 { .. }));
        let dst = slowpath_bpf::insn::Register::R1;
        program.insns[slot.expect("a wide immediate")] = Insn::LoadImm64 { dst, value };
    };
    let starts = |text: String, what: &str| {
        assert!(text.starts_with("program xdp_main") && text.contains(what), "{text}");
    };
    starts(refused(&object, &|p| wide(p, Imm64::MapFd(3))), "only in a running kernel");
    starts(refused(&object, &|p| wide(p, Imm64::Map(99))), "no such map");
    starts(
        refused(&object, &|p| wide(p, Imm64::MapValue { map: 0, offset: 0 })),
        "other than global data",
    );
    starts(refused(&object, &|p| wide(p, Imm64::Function { offset: 0 })), "middle of a function");
    starts(refused(&object, &|p| p.insns[0] = Insn::SecondSlot), "second slot");
    let far = Insn::Jump { offset: 30_000, long: false };
    starts(refused(&object, &|p| p.insns[0] = far), "a jump out of its function");
    let unknown = Insn::Call(Call::Kfunc { id: 0, module: 0 });
    starts(refused(&object, &|p| p.insns[0] = unknown), "without a name");
    starts(refused(&object, &|p| p.subprograms.clear()), "entry function");
    starts(refused(&object, &|p| p.subprograms[1].first = 0), "not in order");
    starts(refused(&object, &|p| drop(p.lines.pop())), "among the lines");
    let undeclared = refused(&object, &|p| {
        p.insns[0] = unknown;
        p.kfuncs = vec!["bpf_new".to_owned()];
    });
    assert!(undeclared.contains("does not declare the kernel function bpf_new"), "{undeclared}");
    let bss = object.maps.iter().position(|map| map.name == ".bss").expect(".bss");
    object.maps[bss].initial.iter_mut().for_each(|content| content[0] = 1);
    assert_eq!(
        refused(&object, &|_| ()),
        "map .bss: its content is not zero, and its section has none"
    );
}

#[test]
fn legacy_definitions_become_btf() {
    let object = parse(LEGACY);
    assert!(object.btf.is_none());
    let read = written(&object, &link_all(&object, &kernel()).iter().collect::<Vec<_>>());
    let btf = read.btf.expect("types");
    let section = |kind: &Kind| matches!(kind, Kind::DataSec { .. });
    assert!(btf.find(".maps", section).is_some());
    let tails = read.maps.iter().find(|map| map.name == "tails").expect("a map");
    assert_eq!(tails.slots, [(2, SlotRef::Program(1))]);
}

#[test]
fn kernel_functions_are_declared_as_compilers_do() {
    let object = parse(EXTERN);
    let mut program = object.link(0, None).expect("links");
    // The values of kernel variables do not matter here.
    let nothing = Insn::Jump { offset: 0, long: false };
    for unresolved in std::mem::take(&mut program.unresolved) {
        let second = program.insns.get(unresolved.insn + 1) == program.insns.get(unresolved.insn);
        program.insns[unresolved.insn..=unresolved.insn + usize::from(second)].fill(nothing);
    }
    let read = written(&object, &[&program]);
    let linked = read.link(0, None).expect("links");
    assert_eq!((&linked.insns, &linked.kfuncs), (&program.insns, &program.kfuncs));
    let btf = read.btf.as_ref().expect("types");
    let sections: Vec<_> = btf
        .types()
        .filter_map(|(id, ty)| match &ty.kind {
            Kind::DataSec { vars, .. } => Some((btf.type_name(id), vars.len())),
            _ => None,
        })
        .collect();
    assert_eq!(sections, [(".ksyms", 1)], "variables of the kernel are not declared");
}
