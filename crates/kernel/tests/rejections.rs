//! Tests that broken input leads to a one-line error that names the section and the instruction.
//! The kernel must reject each of these programs, too.

use crate::support;

use object::write::{Object as Writer, Relocation, RelocationFlags, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::Object;
use slowpath_bpf::insn::{
    AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width, encode,
};
use slowpath_bpf::lift::{LiftOptions, lift};
use slowpath_oracle::Oracle;
use support::{assemble, isa, kernel, path};

/// Parses, links and lifts the first program of an object file.
fn lifted(file: &[u8]) -> Result<(), String> {
    let object = Object::parse(file).map_err(|e| e.to_string())?;
    let linked = object.link(0, None).map_err(|e| e.to_string())?;
    lift(&object, &linked, &LiftOptions::default()).map(|_| ()).map_err(|e| e.to_string())
}

fn add(dst: u8, value: i32) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Add, dst: isa::reg(dst), src: Source::Imm(value) }
}

fn call(number: i32) -> Insn {
    Insn::Call(Call::Helper(number))
}

fn ok() -> [Insn; 2] {
    [isa::mov(0, 2), Insn::Exit]
}

/// Returns programs that are rejected. Each tuple contains a name, the instructions, and two texts
/// that the error must contain: the instruction and a part of the reason.
fn programs() -> Vec<(&'static str, Vec<Insn>, &'static str, &'static str)> {
    let [pass, exit] = ok();
    let (r10, imm) = (Register::FRAME, Source::Imm);
    let store = |offset| Insn::Store { size: Size::DW, base: r10, offset, src: imm(1) };
    let jump = |offset| Insn::Jump { offset, long: false };
    let divide = |op| Insn::Alu { width: Width::W32, op, dst: isa::reg(0), src: imm(0) };
    let near = Insn::Branch {
        width: Width::W64,
        cond: Condition::Eq,
        dst: isa::reg(0),
        src: imm(1),
        offset: 2,
    };
    let wide = Insn::LoadImm64 { dst: isa::reg(0), value: Imm64::Value(1) };
    vec![
        ("unknown helper", vec![call(9999), pass, exit], "instruction 0", "no helper with number"),
        ("helper", vec![call(194), pass, exit], "instruction 0", "bpf_kptr_xchg is not supported"),
        ("jump out of range", vec![pass, jump(7), exit], "instruction 1", ""),
        ("jump before the start", vec![pass, jump(-9), exit], "instruction 1", ""),
        (
            "jump into an immediate",
            vec![pass, near, pass, wide, Insn::SecondSlot, exit],
            "instruction 1",
            "",
        ),
        ("unreachable", vec![pass, exit, pass, exit], "instruction 2", "is unreachable"),
        (
            "unreachable behind a jump",
            vec![pass, jump(1), pass, exit],
            "instruction 2",
            "is unreachable",
        ),
        (
            "stack overflow",
            vec![store(-520), pass, exit],
            "instruction 0",
            "8 bytes at r10-520 are not in the stack frame of 512 bytes",
        ),
        ("above the stack", vec![store(-4), pass, exit], "instruction 0", "8 bytes at r10-4"),
        ("over the end", vec![pass], "instruction ", ""),
        ("frame pointer written", vec![add(10, 8), pass, exit], "instruction 0", "frame pointer"),
        (
            "moved frame pointer",
            vec![
                Insn::Alu {
                    width: Width::W64,
                    op: AluOp::Mov,
                    dst: isa::reg(1),
                    src: Source::Reg(r10),
                },
                add(1, i32::MAX),
                Insn::Store { size: Size::B, base: isa::reg(1), offset: 0, src: imm(1) },
                pass,
                exit,
            ],
            "instruction 2",
            "stack frame",
        ),
        ("division by zero", vec![pass, divide(AluOp::Div), exit], "instruction 1", "division by"),
        (
            "remainder by zero",
            vec![pass, divide(AluOp::Smod), exit],
            "instruction 1",
            "division by",
        ),
        (
            "map by file descriptor",
            vec![
                Insn::LoadImm64 { dst: isa::reg(1), value: Imm64::MapFd(3) },
                Insn::SecondSlot,
                pass,
                exit,
            ],
            "instruction 0",
            "a number that is valid only in a running kernel",
        ),
    ]
}

#[test]
fn broken_programs_are_refused_with_place_and_reason() {
    let kernel = kernel();
    let (mut faults, mut compared) = (Vec::new(), 0);
    for (name, insns, place, reason) in programs() {
        let file = assemble::file(&[&insns]);
        match lifted(&file) {
            Ok(()) => faults.push(format!("{name}: is accepted")),
            Err(fault) => {
                let is_expected = fault.contains("section xdp")
                    && fault.contains(place)
                    && fault.contains(reason)
                    && fault.contains("; ")
                    && fault.lines().count() == 1;
                if !is_expected {
                    faults.push(format!("{name}: {fault}"));
                }
            }
        }
        if let (Some(kernel), Ok(object)) = (&kernel, Object::parse(&file)) {
            compared += 1;
            if kernel.load(&object, 0).is_ok() {
                faults.push(format!("{name}: the kernel accepts it"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    if kernel.is_some() {
        Oracle::Kernel.compared(compared, "broken programs");
    }
}

#[test]
fn calls_that_are_too_deep_are_refused() {
    let [pass, exit] = ok();
    let next = |offset| Insn::Call(Call::Subprogram { offset });
    // Each function of two instructions calls the next one.
    let caller = [next(1), exit];
    let mut functions: Vec<&[Insn]> = vec![&caller; 8];
    let last = [pass, exit];
    functions.push(&last);
    let fault = lifted(&assemble::file(&functions)).expect_err("nine frames");
    assert!(fault.contains("nested more than 8 deep"), "{fault}");
    functions.remove(0);
    assert_eq!(lifted(&assemble::file(&functions)), Ok(()), "eight frames");
    let recursive = [next(-1), exit];
    let entry = [next(1), exit];
    let fault = lifted(&assemble::file(&[&entry, &recursive])).expect_err("recursion");
    assert!(fault.contains("a function calls itself"), "{fault}");
    assert!(fault.starts_with("section xdp, instruction 2"), "{fault}");
}

#[test]
fn registers_without_a_value_are_an_error_when_executed() {
    use slowpath_exec::{Executor, NodeId};
    let insns = [
        Insn::Alu {
            width: Width::W64,
            op: AluOp::Mov,
            dst: isa::reg(0),
            src: Source::Reg(isa::reg(7)),
        },
        Insn::Exit,
    ];
    let object = assemble::object(&[&insns]);
    let linked = object.link(0, None).unwrap_or_else(|e| panic!("{e}"));
    let lifted = lift(&object, &linked, &LiftOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let program = std::rc::Rc::new(lifted.program);
    let (mut executor, mut state) =
        Executor::new(std::rc::Rc::clone(&program)).unwrap_or_else(|e| panic!("{e}"));
    let fault = executor.run_block(NodeId(0), program.entry, &mut state).expect_err("r7");
    assert!(fault.to_string().contains("r7"), "{fault}");
}

#[test]
fn damaged_files_are_refused() {
    let file =
        std::fs::read(path("tests/objects/features.bpf.o")).unwrap_or_else(|e| panic!("{e}"));
    for length in (0..file.len()).step_by(61) {
        let fault = lifted(&file[..length]).expect_err("truncated");
        assert_eq!(fault.lines().count(), 1, "{length} bytes: {fault}");
    }
    let mut other = file.clone();
    other[18] = 62;
    let fault = lifted(&other).expect_err("x86-64");
    assert!(fault.to_lowercase().contains("bpf"), "{fault}");
    let mut empty = Writer::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let license = empty.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    empty.append_section_data(license, b"GPL\0", 1);
    let empty = empty.write().unwrap_or_else(|e| panic!("{e}"));
    assert!(lifted(&empty).expect_err("empty").starts_with("the object has no program"));
    let mut rng = StdRng::seed_from_u64(4);
    for _ in 0..300 {
        let code: Vec<u8> = (0..8 * rng.random_range(1..30)).map(|_| rng.random()).collect();
        let fault = lifted(&assemble::file_of_code(&[code])).expect_err("random bytes");
        assert!(fault.starts_with("section xdp, instruction "), "{fault}");
        assert_eq!(fault.lines().count(), 1, "{fault}");
    }
    let fault = lifted(&assemble::file_of_code(&[vec![0x95; 12]])).expect_err("12 bytes");
    assert_eq!(fault.lines().count(), 1, "{fault}");
}

/// Returns an object with a program that looks up a key in a map. `kind` is the type of the map,
/// and `relocation` the type of the relocation that refers to it.
fn with_map(kind: u32, relocation: u32, defined: bool) -> Vec<u8> {
    let mut file = Writer::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let maps = file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let definition: Vec<u8> = [kind, 4, 8, 16, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let size = definition.len() as u64;
    let value = file.append_section_data(maps, &definition, 4);
    let symbol = |name: &[u8], value, size, kind, section| Symbol {
        name: name.to_vec(),
        value,
        size,
        kind,
        scope: SymbolScope::Linkage,
        weak: false,
        section,
        flags: SymbolFlags::None,
    };
    let place = if defined { SymbolSection::Section(maps) } else { SymbolSection::Undefined };
    let table = file.add_symbol(symbol(b"table", value, size, SymbolKind::Data, place));
    let section = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    let frame = Register::FRAME;
    let code = encode(&[
        Insn::Store { size: Size::W, base: frame, offset: -4, src: Source::Imm(1) },
        Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: isa::reg(2), src: Source::Reg(frame) },
        add(2, -4),
        Insn::LoadImm64 { dst: isa::reg(1), value: Imm64::Value(0) },
        Insn::SecondSlot,
        call(1),
        isa::mov(0, 2),
        Insn::Exit,
    ]);
    let value = file.append_section_data(section, &code, 8);
    let size = code.len() as u64;
    let place = SymbolSection::Section(section);
    file.add_symbol(symbol(b"test", value, size, SymbolKind::Text, place));
    let flags = RelocationFlags::Elf { r_type: relocation };
    let relocation = Relocation { offset: 24, symbol: table, addend: 0, flags };
    file.add_relocation(section, relocation).unwrap_or_else(|e| panic!("{e}"));
    file.write().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn maps_and_relocations_that_are_not_known_are_refused() {
    /// `R_BPF_64_64`.
    const ADDRESS: u32 = 1;
    assert_eq!(lifted(&with_map(1, ADDRESS, true)), Ok(()));
    let fault = lifted(&with_map(999, ADDRESS, true)).expect_err("type 999");
    assert!(fault.contains("map table of type"), "{fault}");
    assert!(fault.starts_with("section xdp, instruction 5: "), "{fault}");
    for (relocation, defined) in [(77, true), (ADDRESS, false)] {
        let fault = lifted(&with_map(1, relocation, defined)).expect_err("relocation");
        assert_eq!(fault.lines().count(), 1, "{fault}");
        assert!(fault.starts_with("section xdp, instruction "), "{fault}");
    }
}
