//! Fuzzes the reader of BPF objects. Every input must be exactly one of
//!
//! - an object, each of whose programs is either linked or refused with a message of one line. In
//!   linked programs, jumps and calls lead to instructions, references name existing maps, and
//!   unresolved instructions are listed;
//! - an error of one line.
//!
//! CO-RE relocations are resolved against the object's own types.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_bpf::insn::{Call, Imm64, Insn, POISON, encode};
use slowpath_bpf::{BpfProgram, Object, ObjectError};

fuzz_target!(|bytes: &[u8]| {
    let object = match Object::parse(bytes) {
        Ok(object) => object,
        Err(error) => return one_line(&error),
    };
    for number in 0..object.programs.len() {
        for kernel in [None, object.btf.as_ref()] {
            match object.link(number, kernel) {
                Ok(program) => check(&object, &program),
                Err(error) => one_line(&error),
            }
        }
    }
});

fn one_line(error: &ObjectError) {
    assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
}

fn check(object: &Object, program: &BpfProgram) {
    assert_eq!(program.insns.len(), program.lines.len());
    assert_eq!(program.insns.len() * 8, encode(&program.insns).len());
    for (slot, insn) in program.insns.iter().enumerate() {
        assert!(!program.disassemble(object, slot).contains('\n'));
        if insn.jump_offset().is_some() {
            let target = insn.jump_target(slot).and_then(|target| program.insns.get(target));
            assert!(target.is_some_and(|target| *target != Insn::SecondSlot), "{insn} at {slot}");
        }
        if let Some(target) = insn.function_target(slot) {
            assert!(program.subprograms.iter().any(|s| s.first == target), "{insn} at {slot}");
        }
        match insn {
            Insn::LoadImm64 { value: Imm64::Map(map) | Imm64::MapValue { map, .. }, .. } => {
                assert!((*map as usize) < object.maps.len(), "{insn} at {slot}");
            }
            Insn::Call(Call::Kfunc { id, .. }) if program.unresolved(slot).is_none() => {
                assert!(program.kfuncs.len() > *id as usize, "{insn} at {slot}");
            }
            _ => {}
        }
    }
    for unresolved in &program.unresolved {
        assert_eq!(program.insns[unresolved.insn], Insn::Call(Call::Helper(POISON)));
    }
}
