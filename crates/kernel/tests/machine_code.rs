//! Tests that machine code is assigned to the right instructions.

use crate::support;

use support::{examples, features, kernel, object};

/// Checks that every byte of machine code belongs to exactly one instruction.
#[test]
fn all_code_is_of_an_instruction() {
    let Some(kernel) = kernel() else { return };
    let files = examples();
    for object in files.iter().map(|file| object(file)).chain([features()]) {
        for (number, program) in object.programs.iter().enumerate() {
            let Ok(code) = kernel.machine_code(&object, number) else {
                // Programs that cannot be loaded have no code; other tests cover them.
                assert!(kernel.load(&object, number).is_err(), "{}", program.name);
                continue;
            };
            let mut parts: Vec<_> =
                (0..code.insns.len()).filter_map(|slot| code.part(slot)).collect();
            parts.sort_by_key(|part| (part.start, part.end));
            let mut end = 0;
            for part in &parts {
                assert_eq!(part.start, end, "{}", program.name);
                end = part.end;
            }
            assert_eq!(end, code.bytes.len(), "{}", program.name);
            assert!(end > 0, "{}: the kernel compiles programs", program.name);
            let middle = parts[parts.len() / 2].clone();
            if !middle.is_empty() {
                assert_eq!(code.part_at(middle.start), Some(middle));
            }
        }
    }
}

/// Checks that equal instructions have equal machine code everywhere in a program.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_is_that_of_the_instruction() {
    use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
    let Some(kernel) = kernel() else { return };
    let mut instructions = 0;
    for file in examples() {
        let object = object(&file);
        for number in 0..object.programs.len() {
            let Ok(code) = kernel.machine_code(&object, number) else { continue };
            for (slot, insn) in code.insns.iter().enumerate() {
                let (width, src) = (Width::W64, Source::Imm(14));
                let add = Insn::Alu { width, op: AluOp::Add, dst: Register::R3, src };
                if *insn == add
                    && let Some(part) = code.part(slot)
                {
                    // `add $14, %rdx`: register 3 is `rdx`.
                    assert_eq!(code.bytes[part], [0x48, 0x83, 0xc2, 14], "{}", file.display());
                    instructions += 1;
                }
            }
        }
    }
    assert!(instructions > 0);
}
