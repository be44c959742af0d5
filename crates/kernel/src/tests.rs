//! Unit tests that do not need BPF in the running kernel, and a function that other tests share.

use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, ProgramKind, Subprogram};

use crate::Context;
use crate::context::{self, Layout};
use crate::sys::Cpus;

/// Builds a program from instructions. Its functions start at the slots `functions`.
pub fn program(insns: Vec<Insn>, functions: &[usize]) -> BpfProgram {
    let function = |&first: &usize| Subprogram {
        name: format!("f{first}"),
        first,
        global: first == 0,
        section: "xdp".to_owned(),
        section_slot: first,
    };
    BpfProgram {
        number: 0,
        name: "main".to_owned(),
        section: "xdp".to_owned(),
        kind: ProgramKind::Xdp,
        lines: vec![None; insns.len()],
        insns,
        subprograms: functions.iter().map(function).collect(),
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
    }
}

#[test]
fn lists_of_cpus_count_up_to_the_highest() {
    let count = |list| Cpus::parse(list).map(Cpus::count);
    assert_eq!(count("0\n"), Some(1));
    assert_eq!(count("0-3\n"), Some(4));
    assert_eq!(count("0-3,8-11\n"), Some(12));
    assert_eq!(count("0,2"), Some(3));
    for broken in ["", "\n", "x", "0-", "18446744073709551615"] {
        assert_eq!(count(broken), None, "{broken:?}");
    }
}

#[test]
fn metadata_moves_the_packet() {
    let context = Context { metadata: vec![0; 8], ..Context::default() };
    assert_eq!(context::decode(&context.encode(60)), Layout { data: 8, end: 68 });
}
