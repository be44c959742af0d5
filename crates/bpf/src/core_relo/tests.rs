//! Tests that resolve `core.bpf.o` against the types of `core_kernel.bpf.o`.

use super::*;
use crate::btf::{Kind, StringId, TypeId};
use crate::insn::{Call, Imm64, POISON, Size, Source};
use crate::{BpfProgram, Object};

fn object() -> Object {
    Object::parse(include_bytes!("../../tests/data/core.bpf.o")).unwrap_or_else(|e| panic!("{e}"))
}

fn kernel() -> Btf {
    let bytes = include_bytes!("../../tests/data/core_kernel.bpf.o");
    Object::parse(bytes).ok().and_then(|o| o.btf).expect("BTF")
}

fn link(name: &str, kernel: Option<&Btf>) -> BpfProgram {
    let object = object();
    let number = object.programs.iter().position(|p| p.name == name).expect("a program");
    object.link(number, kernel).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the constants that the program loads into registers, in order.
fn constants(program: &BpfProgram) -> Vec<u64> {
    let constant = |insn: &Insn| match *insn {
        Insn::Alu { op: crate::insn::AluOp::Mov, src: Source::Imm(imm), .. } => Some(imm as u64),
        Insn::LoadImm64 { value: Imm64::Value(value), .. } => Some(value),
        _ => None,
    };
    program.insns.iter().filter_map(constant).collect()
}

#[test]
fn loads_move_and_grow_with_their_fields() {
    let kernel = kernel();
    let program = link("fields", Some(&kernel));
    assert!(program.unresolved.is_empty(), "{:?}", program.unresolved);
    let loads: Vec<(Size, i16)> = program.insns[2..]
        .iter()
        .filter_map(|insn| match *insn {
            Insn::Load { size, offset, .. } => Some((size, offset)),
            _ => None,
        })
        .collect();
    // second, nested.deep (now after `before`), list[2], grown, renamed.
    assert_eq!(loads, [(Size::W, 8), (Size::W, 24), (Size::H, 36), (Size::DW, 48), (Size::DW, 80)]);
}

#[test]
fn offsets_sizes_signs_and_shifts_of_fields() {
    let program = link("fields", Some(&kernel()));
    // The first value is the offset of `second`, which the compiler computes early. `flag_b` starts
    // at bit 3 of the word at offset 72.
    assert_eq!(constants(&program), [8, 8, 1, 0, 1, 72, 4, 56, 59, 1, 0]);
}

#[test]
fn types_and_constants() {
    let kernel = kernel();
    let here = object();
    let is_struct = |kind: &Kind| matches!(kind, Kind::Struct { .. });
    let id = |btf: &Btf| u64::from(btf.find("moved", is_struct).expect("a type").0);
    let local = id(here.btf.as_ref().expect("BTF"));
    let program = link("types", Some(&kernel));
    assert!(program.unresolved.is_empty(), "{:?}", program.unresolved);
    assert_eq!(constants(&program), [local, id(&kernel), 1, 0, 88, 1, 1, 30, 0, 0]);
}

#[test]
fn types_without_counterpart_are_unresolved() {
    let program = link("unresolved", Some(&kernel()));
    let reasons: Vec<&str> = program.unresolved.iter().map(|u| u.what.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "CO-RE relocation of `moved.gone`: the kernel has no type or field of this name",
            "CO-RE relocation of `missing.x`: the kernel has no type or field of this name",
            "CO-RE relocation of `moved.grown_signed`: the field has a different size in the kernel, \
             and is not an unsigned number",
        ]
    );
    for unresolved in &program.unresolved {
        assert_eq!(program.insns[unresolved.insn], Insn::Call(Call::Helper(POISON)));
    }
}

#[test]
fn without_a_kernel_only_local_types_are_known() {
    let program = link("types", None);
    assert!(!program.unresolved.is_empty());
    assert!(program.unresolved.iter().all(|u| u.what.contains("--btf FILE")), "{program:?}");
    assert!(matches!(program.insns[0], Insn::LoadImm64 { .. }), "the local number stays");
}

#[test]
fn an_object_resolved_against_itself_does_not_change() {
    let object = object();
    let btf = object.btf.as_ref();
    // Not `types`: `moved` and its flavour `moved___old` would both be the kernel's `moved`.
    let own = |p: &&crate::ProgramEntry| p.name != "types";
    for entry in object.programs.iter().filter(own) {
        let number = object.programs.iter().position(|p| p == entry).expect("a program");
        let program = object.link(number, btf).unwrap_or_else(|e| panic!("{e}"));
        assert!(program.unresolved.is_empty(), "{:?}", program.unresolved);
        let function = &object.functions[entry.function];
        let code = function.code.as_ref().expect("code");
        for (slot, (before, after)) in code.iter().zip(&program.insns).enumerate() {
            let data = matches!(after, Insn::LoadImm64 { value: Imm64::MapValue { .. }, .. });
            assert!(before == after || data, "{slot}: {before} became {after}");
        }
    }
}

#[test]
fn matching_types_have_the_same_members() {
    let (object, kernel) = (object(), kernel());
    let local = object.btf.as_ref().expect("BTF");
    let find = |btf: &Btf, name: &str| {
        btf.find(name, |k| matches!(k, Kind::Struct { .. } | Kind::Enum(_))).expect("a type")
    };
    let both = |name: &str| (find(local, name), find(&kernel, name));
    for (name, expected) in [("inside", true), ("moved", false), ("colour", false)] {
        let (a, b) = both(name);
        assert_eq!(compat::types_match(local, a, &kernel, b), expected, "{name}");
        assert!(compat::types_match(local, a, local, a), "{name}");
        assert!(compat::types_compatible(local, a, &kernel, b), "{name}");
    }
    let (a, b) = (find(local, "inside"), find(&kernel, "moved"));
    assert!(!compat::types_match(local, a, &kernel, b));
}

#[test]
fn nonsense_is_an_error_in_words() {
    let object = object();
    let btf = object.btf.as_ref().expect("BTF");
    for kind in 0..16 {
        for ty in [0, 1, 8, 1 << 31] {
            for access in 0..200 {
                let record =
                    CoreRecord { offset: 0, ty: TypeId(ty), access: StringId(access), kind };
                let mut insns = [Insn::Exit];
                let error = apply(&mut insns, 0, &record, btf, Some(btf)).expect_err("no place");
                assert!(!error.is_empty() && !error.contains('\n'));
                assert_eq!(insns, [Insn::Exit]);
            }
        }
    }
}
