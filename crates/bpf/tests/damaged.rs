//! Tests that the reading of damaged objects gives valid programs or an error of one line, and
//! never a panic.

use proptest::prelude::*;
use slowpath_bpf::insn::{Insn, encode};
use slowpath_bpf::{BpfProgram, Btf, Object, SlotRef};

const OBJECTS: [&[u8]; 5] = [
    include_bytes!("data/features.bpf.o"),
    include_bytes!("data/legacy.bpf.o"),
    include_bytes!("data/core.bpf.o"),
    include_bytes!("data/core_kernel.bpf.o"),
    include_bytes!("data/extern.bpf.o"),
];

fn kernel() -> Btf {
    Object::parse(OBJECTS[3]).ok().and_then(|object| object.btf).expect("BTF")
}

fn one_line(error: &dyn std::fmt::Display) -> Result<(), TestCaseError> {
    prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
    Ok(())
}

fn holds(data: &[u8], kernel: &Btf) -> Result<(), TestCaseError> {
    let object = match Object::parse(data) {
        Ok(object) => object,
        Err(error) => return one_line(&error),
    };
    for map in &object.maps {
        for (_, slot) in &map.slots {
            let exists = match slot {
                SlotRef::Program(program) => *program < object.programs.len(),
                SlotRef::Map(map) => *map < object.maps.len(),
            };
            prop_assert!(exists);
        }
    }
    let mut linked = Vec::new();
    for number in 0..object.programs.len() {
        let program = match object.link(number, Some(kernel)) {
            Ok(program) => program,
            Err(error) => {
                one_line(&error)?;
                continue;
            }
        };
        prop_assert_eq!(program.insns.len(), program.lines.len());
        for (slot, insn) in program.insns.iter().enumerate() {
            prop_assert!(!program.disassemble(&object, slot).contains('\n'));
            if let Some(offset) = insn.jump_offset() {
                let target = program.insns.get((slot as i64 + 1 + offset) as usize);
                prop_assert!(
                    target.is_some_and(|t| *t != Insn::SecondSlot),
                    "{} at {}",
                    insn,
                    slot
                );
            }
            if let Some(target) = insn.function_target(slot) {
                prop_assert!(program.subprograms.iter().any(|s| s.first == target));
            }
        }
        for unresolved in &program.unresolved {
            prop_assert!(unresolved.insn < program.insns.len());
            one_line(&unresolved.what)?;
        }
        prop_assert_eq!(encode(&program.insns).len(), program.insns.len() * 8);
        linked.push(program);
    }
    let resolved: Vec<&BpfProgram> =
        linked.iter().filter(|program| program.unresolved.is_empty()).collect();
    match object.write(&resolved) {
        Ok(written) => {
            // Section names are arbitrary, so the meaning of the written object may differ.
            if let Err(error) = Object::parse(&written) {
                one_line(&error)?;
            }
        }
        Err(error) => one_line(&error)?,
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn changed_bytes(
        index in 0..OBJECTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut data = OBJECTS[index].to_vec();
        for (place, value) in changes {
            let place = place.index(data.len());
            data[place] = value;
        }
        holds(&data, &kernel())?;
    }

    #[test]
    fn moved_words(
        index in 0..OBJECTS.len(),
        moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let mut data = OBJECTS[index].to_vec();
        for (from, to) in moves {
            let (from, to) = (from.index(data.len() / 8) * 8, to.index(data.len() / 8) * 8);
            data.copy_within(from..from + 8, to);
        }
        holds(&data, &kernel())?;
    }

    #[test]
    fn truncated(index in 0..OBJECTS.len(), end in any::<prop::sample::Index>()) {
        let data = OBJECTS[index];
        holds(&data[..end.index(data.len())], &kernel())?;
    }

    #[test]
    fn random_bytes(data in prop::collection::vec(any::<u8>(), 0..256)) {
        holds(&data, &kernel())?;
        if let Err(error) = Btf::parse(&data) {
            one_line(&error)?;
        }
    }

    #[test]
    fn random_code(code in prop::collection::vec(any::<u8>(), 1..200)) {
        // The section `prog` of the legacy object starts after the ELF header.
        let mut data = OBJECTS[1].to_vec();
        let end = (64 + code.len()).min(data.len());
        data[64..end].copy_from_slice(&code[..end - 64]);
        holds(&data, &kernel())?;
    }
}

#[test]
fn foreign_files_are_refused_with_a_way_out() {
    let message = |data: &[u8]| Object::parse(data).expect_err("refused").to_string();
    let changed = |place: usize, value: u8| {
        let mut data = OBJECTS[0].to_vec();
        data[place] = value;
        message(&data)
    };
    assert!(message(b"").starts_with("an empty file; "));
    assert!(message(b"#!/bin/sh\n").starts_with("not an ELF file; "));
    assert!(
        message(&OBJECTS[0][..40]).starts_with("an ELF file that is shorter than an ELF header; ")
    );
    assert!(changed(4, 1).starts_with("not a 64-bit ELF file; "));
    assert!(changed(5, 2).starts_with("a big-endian BPF object; "));
    assert!(changed(16, 2).starts_with("an ELF file of type 2, not a relocatable object (1); "));
    assert!(changed(18, 62).starts_with("an ELF file for machine 62, not for BPF (247); "));
    let mut old = OBJECTS[0].to_vec();
    old[18] = 0;
    assert!(Object::parse(&old).is_ok(), "old compilers wrote machine 0");
}
