//! Tests that read the objects of `tests/data` and check their programs, calls, maps, data and
//! lines.

use super::*;
use crate::ObjectError;
use crate::insn::{AluOp, AtomicOp, Call, Imm64, Insn, Register, Size, Source, SwapKind, Width};
use crate::{MapKind, SlotRef};

const FEATURES: &[u8] = include_bytes!("../../tests/data/features.bpf.o");
const LEGACY: &[u8] = include_bytes!("../../tests/data/legacy.bpf.o");
const EXTERN: &[u8] = include_bytes!("../../tests/data/extern.bpf.o");

fn parse(data: &[u8]) -> Object {
    Object::parse(data).unwrap_or_else(|e| panic!("{e}"))
}

fn link(object: &Object, name: &str) -> BpfProgram {
    let number = object.programs.iter().position(|p| p.name == name).expect("a program");
    object.link(number, None).unwrap_or_else(|e| panic!("{e}"))
}

fn summary(object: &Object) -> Vec<(&str, &str, ProgramKind)> {
    object.programs.iter().map(|p| (p.name.as_str(), p.section.as_str(), p.kind)).collect()
}

#[test]
fn programs_are_global_functions_outside_of_text() {
    let object = parse(FEATURES);
    assert_eq!(
        summary(&object),
        [
            ("xdp_tail", "xdp/tail", ProgramKind::Xdp),
            ("xdp_second_of_section", "xdp/tail", ProgramKind::Xdp),
            ("xdp_main", "xdp/main", ProgramKind::Xdp),
            ("not_xdp", "tc", ProgramKind::SchedCls),
        ]
    );
    assert_eq!(object.license.as_deref(), Some("Dual MIT/GPL"));
    assert_eq!(parse(LEGACY).license, None);
}

#[test]
fn called_functions_follow_in_the_order_of_calls() {
    let object = parse(FEATURES);
    let program = link(&object, "xdp_main");
    let names: Vec<_> = program.subprograms.iter().map(|s| (s.name.as_str(), s.global)).collect();
    assert_eq!(
        names,
        [
            ("xdp_main", true),
            ("count", false),
            ("classify", true),
            ("checksum", false),
            ("replaceable", true)
        ]
    );
    assert_eq!(program.lines.len(), program.insns.len());
    assert!(program.unresolved.is_empty());
    let starts: Vec<_> = program.subprograms.iter().map(|s| s.first).collect();
    for (slot, insn) in program.insns.iter().enumerate() {
        if let Some(target) = insn.function_target(slot) {
            assert!(starts.contains(&target), "{insn} at {slot} leads to {target}");
        }
    }
    let text = |wanted: &str| {
        (0..program.insns.len())
            .filter(|slot| program.disassemble(&object, *slot).contains(wanted))
            .count()
    };
    assert_eq!(text("func[count]"), 1);
    assert_eq!(text("(classify)"), 1);
    assert_eq!(text("(checksum)"), 2);
    assert_eq!(text("map[flows]"), 1);
    assert_eq!(text("map[jumps]"), 1);
    assert_eq!(text("map[.rodata][0]+"), 2);
    assert_eq!(text("call bpf_loop#181"), 1);
    let (section, slot) = program.place(starts[3]).expect("a place");
    assert_eq!(section, ".text");
    assert_eq!(slot, program.subprograms[3].section_slot);
}

#[test]
fn a_program_without_calls_has_one_function() {
    let object = parse(FEATURES);
    let program = link(&object, "xdp_second_of_section");
    assert_eq!(program.subprograms.len(), 1);
    assert_eq!(program.insns.last(), Some(&Insn::Exit));
    assert_eq!(program.place(0).map(|(section, _)| section), Some("xdp/tail"));
    assert!(program.place(0).is_some_and(|(_, slot)| slot > 0));
    assert_eq!(object.link(4, None), Err(ObjectError::NoProgram { number: 4, available: 4 }));
}

#[test]
fn lines_carry_the_source() {
    let object = parse(FEATURES);
    let program = link(&object, "xdp_second_of_section");
    let line = program.lines[0].as_ref().expect("a line");
    assert!(line.file.ends_with("features.bpf.c"), "{}", line.file);
    assert_eq!(line.text.trim(), "return ctx->rx_queue_index ? XDP_DROP : XDP_PASS;");
    assert!(line.line > 100 && line.column > 0);
    assert!(link(&parse(LEGACY), "tail").lines.iter().all(Option::is_none));
}

#[test]
fn variables_have_maps_and_initial_values() {
    let object = parse(FEATURES);
    let value = |name: &str| {
        let variable = object.variables.iter().find(|v| v.name == name).expect("a variable");
        let map = &object.maps[variable.map];
        let content = map.initial.as_ref().expect("content");
        let bytes = &content[variable.offset as usize..][..variable.size as usize];
        (map.name.as_str(), map.read_only, bytes.to_vec())
    };
    assert_eq!(value("limit"), (".rodata", true, 1500u32.to_le_bytes().to_vec()));
    assert_eq!(value("greeting"), (".rodata", true, b"slow\0\0\0\0".to_vec()));
    assert_eq!(value("counter"), (".data", false, 7u64.to_le_bytes().to_vec()));
    assert_eq!(value("zeroed"), (".bss", false, vec![0; 16]));
    let program = link(&object, "xdp_tail");
    let bss = object.maps.iter().position(|m| m.name == ".bss").expect(".bss") as u32;
    let access = program.insns.iter().find_map(|insn| match insn {
        Insn::LoadImm64 { value: Imm64::MapValue { map, offset }, .. } => Some((*map, *offset)),
        _ => None,
    });
    assert!(access.is_some_and(|(map, _)| map == bss));
}

#[test]
fn untyped_legacy_objects_are_read() {
    let object = parse(LEGACY);
    assert_eq!(
        summary(&object),
        [("xdp_filter", "prog", ProgramKind::Xdp), ("tail", "7/2", ProgramKind::Unknown)]
    );
    let tails = object.maps.iter().find(|m| m.name == "tails").expect("a map");
    assert_eq!(
        (tails.kind, tails.slots.as_slice()),
        (MapKind::PROG_ARRAY, &[(2, SlotRef::Program(1))][..])
    );
    let program = link(&object, "xdp_filter");
    let maps = program
        .insns
        .iter()
        .filter(|insn| matches!(insn, Insn::LoadImm64 { value: Imm64::Map(_), .. }));
    assert_eq!(maps.count(), 6);
}

#[test]
fn kernel_references_are_unresolved() {
    let object = parse(EXTERN);
    let program = link(&object, "uses_kernel");
    assert_eq!(program.kfuncs, ["bpf_xdp_metadata_rx_hash"]);
    let kfunc = Insn::Call(Call::Kfunc { id: 0, module: 0 });
    let slot = program.insns.iter().position(|insn| *insn == kfunc).expect("a call");
    assert_eq!(program.disassemble(&object, slot), "call bpf_xdp_metadata_rx_hash#0");
    let reasons: Vec<_> = program.unresolved.iter().map(|u| u.what.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "address: `LINUX_KERNEL_VERSION` is part of the kernel's configuration",
            "address: `bpf_prog_active` is a variable of the kernel"
        ]
    );
    for unresolved in &program.unresolved {
        assert_eq!(program.insns[unresolved.insn], Insn::Call(Call::Helper(crate::insn::POISON)));
        assert_eq!(program.unresolved(unresolved.insn), Some(unresolved.what.as_str()));
    }
    assert!(link(&object, "does_not").unresolved.is_empty());
}

#[test]
fn objects_with_only_text_have_programs_there() {
    let object = parse(include_bytes!("../../tests/data/text.bpf.o"));
    assert_eq!(
        summary(&object),
        [("entry", ".text", ProgramKind::Xdp), ("unclear", ".text", ProgramKind::Unknown)]
    );
    let program = link(&object, "entry");
    let names: Vec<_> = program.subprograms.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["entry", "helper"]);
}

#[test]
fn section_names_determine_types() {
    let of = |section: &str| kind::guess(section, "f", None);
    for section in ["xdp", "xdp/x", "xdp.frags", "xdp.frags/devmap", "xdp_prog", "xdp1", "?xdp"] {
        assert_eq!(of(section), ProgramKind::Xdp, "{section}");
    }
    assert_eq!(of("my_xdp_thing"), ProgramKind::Xdp);
    assert_eq!(kind::guess("prog", "xdp_main", None), ProgramKind::Xdp);
    for section in ["tc", "tcx/ingress", "classifier", "tc/egress"] {
        assert_eq!(of(section), ProgramKind::SchedCls, "{section}");
    }
    assert_eq!(of("freplace/xdp_main"), ProgramKind::Other("ext"));
    for section in ["cgroup_skb/ingress", "cgroup_skb/egress", "cgroup/skb", "?cgroup_skb/egress"] {
        assert_eq!(of(section), ProgramKind::CgroupSkb, "{section}");
    }
    assert_eq!(of("cgroup/sock_create").to_string(), "cgroup");
    for (section, kind) in
        [("socket", "socket_filter"), ("socket1", "socket_filter"), ("act", "sched_act")]
    {
        assert_eq!(of(section).to_string(), kind, "{section}");
    }
    assert_eq!(of("2/1"), ProgramKind::Unknown);
}

/// Replaces an instruction in section `prog` of a test object in the legacy format, and returns the
/// error of linking it. The section starts after the ELF header of 64 bytes.
fn with_insn(slot: usize, bytes: [u8; 8]) -> String {
    let mut data = LEGACY.to_vec();
    data[64 + slot * 8..][..8].copy_from_slice(&bytes);
    let object = parse(&data);
    object.link(0, None).expect_err("a fault").to_string()
}

#[test]
fn faults_of_programs_name_section_and_instruction() {
    let prefix = "section prog, instruction 3: ";
    for (bytes, what) in [
        ([0xff; 8], "no such register"),
        ([0x05, 0, 0xff, 0x7f, 0, 0, 0, 0], "a jump out of its function"),
        ([0x05, 0, 0xf0, 0xff, 0, 0, 0, 0], "a jump out of its function"),
        ([0x85, 0x10, 0, 0, 0, 0, 0, 0], "a call into the middle of a function"),
        ([0x85, 0x20, 0, 0, 7, 0, 0, 0], "a number that is valid only in a running kernel"),
    ] {
        let message = with_insn(3, bytes);
        assert!(message.starts_with(prefix) && message.contains(what), "{message}");
        assert!(message.contains("; ") && message.lines().count() == 1, "{message}");
    }
    let object = parse(LEGACY);
    let code = link(&object, "xdp_filter").insns;
    let last = code.len() - 1;
    let message = with_insn(last, [0xb7, 0, 0, 0, 0, 0, 0, 0]);
    assert!(message.contains("neither exit nor jump"), "{message}");
    let wide = code.iter().position(|insn| *insn == Insn::SecondSlot).expect("a wide immediate");
    let bytes = [0x05, 0, (wide - 3 - 1) as u8, 0, 0, 0, 0, 0];
    assert!(wide > 3);
    let message = with_insn(3, bytes);
    assert!(message.contains("into the middle of an instruction"), "{message}");
}

#[test]
fn a_relocation_without_type_stays_unresolved_and_is_not_dropped() {
    // Clear the relocation type of the first relocation of `xdp/main`.
    let read_u64 =
        |at: usize| u64::from_le_bytes(FEATURES[at..at + 8].try_into().expect("8 bytes"));
    let read_u16 = |at: usize| u16::from_le_bytes([FEATURES[at], FEATURES[at + 1]]);
    let headers = read_u64(0x28) as usize;
    let section = |index: u64| headers + index as usize * usize::from(read_u16(0x3a));
    let names = read_u64(section(read_u16(0x3e).into()) + 0x18) as usize;
    let is_wanted = |&index: &u64| {
        let name = names + (read_u64(section(index)) & 0xffff_ffff) as usize;
        FEATURES[name..].starts_with(b".relxdp/main\0")
    };
    let found = (0..read_u16(0x3c).into()).find(is_wanted).expect("the section has relocations");
    let entry = read_u64(section(found) + 0x18) as usize;
    let mut data = FEATURES.to_vec();
    data[entry + 8..entry + 12].fill(0);
    let program = link(&parse(&data), "xdp_main");
    let [unresolved] = program.unresolved.as_slice() else {
        panic!("one reference is not understood: {:?}", program.unresolved);
    };
    assert!(unresolved.what.contains("unknown type 0"), "{}", unresolved.what);
}

#[test]
fn unlinked_programs_have_the_instructions_of_linked_ones() {
    let unlinked = UnlinkedObject::parse(FEATURES).unwrap_or_else(|e| panic!("{e}"));
    let UnlinkedProgram { code, variables } = unlinked.program("xdp_main", &|_| true).unwrap();
    let linked = link(&parse(FEATURES), "xdp_main");
    assert!(code.subprograms.len() > 2);
    for own in &code.subprograms {
        let function = linked.subprograms.iter().find(|one| one.name == own.name).unwrap();
        let end = linked.subprograms.iter().map(|other| other.first);
        let end = end.filter(|first| *first > function.first).min();
        for slot in function.first..end.unwrap_or(linked.insns.len()) {
            let at = own.first + slot - function.first;
            match (linked.insns[slot], code.insns[at]) {
                (Insn::Call(Call::Subprogram { .. }), insn) => {
                    let name = |code: &BpfProgram, insn: Insn, slot| {
                        code.function_of(insn.function_target(slot)?).map(|f| f.name.clone())
                    };
                    assert_eq!(name(&linked, linked.insns[slot], slot), name(&code, insn, at));
                }
                (Insn::LoadImm64 { value: Imm64::Map(map), .. }, _) => {
                    let object = parse(FEATURES);
                    assert_eq!(variables[&at].name, object.maps[map as usize].name);
                }
                (
                    Insn::LoadImm64 {
                        value: Imm64::MapValue { .. } | Imm64::Function { .. }, ..
                    },
                    _,
                ) => {
                    assert!(variables.contains_key(&at));
                }
                (linked, insn) => assert_eq!(linked, insn),
            }
        }
    }
}

#[test]
fn unknown_functions_stay_calls_of_others() {
    let unlinked = UnlinkedObject::parse(FEATURES).unwrap_or_else(|e| panic!("{e}"));
    let program = unlinked.program("xdp_main", &|name| name != "checksum").unwrap();
    assert!(program.code.kfuncs.iter().all(|name| name == "checksum"));
    assert!(!program.code.kfuncs.is_empty());
    assert!(unlinked.program("absent", &|_| true).is_none());
}

#[test]
fn replaced_instructions_lose_their_relocations() {
    let mut object = parse(FEATURES);
    let program = link(&object, "xdp_main");
    let is_map = |insn: &Insn| matches!(insn, Insn::LoadImm64 { value: Imm64::Map(_), .. });
    let slot = program.insns.iter().position(is_map).expect("a map address");
    let function = program.function_of(slot).expect("a function");
    let number = Insn::LoadImm64 { dst: Register::R1, value: Imm64::Value(7) };
    let slot_in_function = slot - function.first;
    assert!(object.replace_insns(&function.name, slot_in_function, &[number, Insn::SecondSlot]));
    assert_eq!(object.insn(&function.name, slot_in_function), Some(number));
    assert_eq!(link(&object, "xdp_main").insns[slot], number);
    assert!(!object.replace_insns(&function.name, 1 << 20, &[number]));
    assert!(!object.replace_insns("no function", 0, &[number]));
}

#[test]
fn registers_that_are_overwritten_are_no_stack_addresses() {
    let deep = -64;
    let copy = Insn::Alu {
        width: Width::W64,
        op: AluOp::Mov,
        dst: Register::R1,
        src: Source::Reg(Register::FRAME),
    };
    let size = Size::DW;
    let store = Insn::Store { size, base: Register::R1, offset: deep, src: Source::Imm(0) };
    let stack = |between: Insn| {
        let mut program = link(&parse(FEATURES), "xdp_main");
        program.insns = vec![copy, between, store, Insn::Exit];
        program.subprograms.truncate(1);
        program.stack_use().own[0]
    };
    let (dst, base) = (Register::R1, Register::FRAME);
    assert_eq!(stack(copy), 64);
    for overwriting in [
        Insn::Neg { width: Width::W64, dst },
        Insn::Swap { kind: SwapKind::Be, size, dst },
        Insn::MoveSigned { width: Width::W64, from: Size::B, dst, src: Register::R2 },
        Insn::LoadAcquire { size, dst, base, offset: -8 },
        Insn::Atomic { op: AtomicOp::Xchg, width: Width::W64, base, offset: -8, src: dst },
    ] {
        assert!(stack(overwriting) <= 8, "{overwriting:?}");
    }
}
