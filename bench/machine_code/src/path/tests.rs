use super::*;
use slowpath_bpf::insn::{AluOp, Condition, Register, Source, Width};

const SET: Insn =
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: Register::R0, src: Source::Imm(2) };

fn branch(offset: i16) -> Insn {
    let (dst, src) = (Register::R0, Source::Imm(0));
    Insn::Branch { width: Width::W64, cond: Condition::Eq, dst, src, offset }
}

/// Builds a path with one step for each element of `jumps`, which says whether the step jumps. All
/// other fields of the steps are arbitrary.
fn flow(jumps: &[bool]) -> Flow {
    let step = |&jumps: &bool| (String::new(), Vec::new(), None, jumps, None, None);
    Flow { steps: jumps.iter().map(step).collect() }
}

#[test]
fn a_path_goes_where_its_branches_lead() {
    let program = [SET, branch(1), SET, Insn::Jump { offset: -2, long: false }, Insn::Exit];
    assert_eq!(slots(&program, &flow(&[false, true, true])), Err("the path ends elsewhere"));
    let program = [SET, branch(1), SET, Insn::Exit];
    assert_eq!(slots(&program, &flow(&[false, true, false])), Ok(vec![0, 1, 3]));
    assert_eq!(slots(&program, &flow(&[false; 4])), Ok(vec![0, 1, 2, 3]));
    let further = slots(&program, &flow(&[false; 5]));
    assert_eq!(further, Err("the path goes on behind its end"));
}

#[test]
fn functions_return_behind_their_call() {
    let call = Insn::Call(Call::Subprogram { offset: 1 });
    let program = [call, Insn::Exit, SET, Insn::Exit];
    let found = slots(&program, &flow(&[true, false, true, false]));
    assert_eq!(found, Ok(vec![0, 2, 3, 1]));
}

#[test]
fn what_the_kernel_does_elsewhere_is_not_followed() {
    let program = [Insn::Call(Call::Helper(12)), Insn::Exit];
    assert!(slots(&program, &flow(&[true, false])).is_err());
    assert_eq!(slots(&program, &flow(&[false, false])), Ok(vec![0, 1]));
    assert!(slots(&[SET], &flow(&[false, false])).is_err(), "behind the program");
}

#[test]
fn jumps_of_machine_code_are_from_behind_them() {
    assert_eq!(jump(100, &[SHORT, 0xfe]), Some(100));
    assert_eq!(jump(100, &[LONG, 11, 0, 0, 0]), Some(116));
    assert_eq!(jump(100, &[LONG, 0xff, 0xff, 0xff, 0xff]), Some(104));
    assert_eq!(jump(0, &[SHORT, 0x80]), None, "before the code");
    assert_eq!(jump(100, &[0xc9, LONG]), None);
    assert_eq!(digits(&[1, 0xab]), "01ab");
}
