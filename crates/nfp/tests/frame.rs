//! Tests the code at the end of compiled programs, which converts `r0` for the firmware.

use slowpath_bpf::Object;
use slowpath_exec::concrete::{self, Environment};
use slowpath_nfp::{
    AluOp, Bank, BranchCondition, CompileOptions, FIRST_EXIT, Insn, LiftOptions, Listing, Operand,
    compile, lift,
};

/// Returns the code that the driver adds after a BPF program, as a separate program. The program
/// starts with `result` in `r0`. At its end, the register that held `r0` contains the word for the
/// firmware.
fn end_of_program(result: u32) -> Listing {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/count_min.1.bpf.o");
    let object = Object::parse(&std::fs::read(path).expect("the example")).expect("an object");
    let program = object.link(0, None).expect("it links");
    let compiled = compile(&object, &program, &CompileOptions::default()).expect("it compiles");
    let first = compiled.origins.iter().rposition(Option::is_some).expect("a program") + 1;
    let end: Vec<Insn> = compiled.listing.insns().skip(first).copied().collect();
    let (a, b) = (Operand::Gpr(Bank::A, 0), Operand::Gpr(Bank::B, 0));
    let branch = |target| Insn::Branch { condition: BranchCondition::Always, target, defer: 0 };
    // Normal exits skip the three instructions for aborted programs.
    let mut insns =
        vec![Insn::Immed { dst: a, value: result, shift: 0, both_banks: true }, branch(2 + 3)];
    let leaves = (insns.len() + end.len()) as u32;
    insns.extend(end.into_iter().map(|insn| match insn {
        Insn::Branch { condition, target: FIRST_EXIT, defer } => {
            Insn::Branch { condition, target: leaves, defer }
        }
        Insn::Branch { condition, target, defer } => {
            Insn::Branch { condition, target: target - first as u32 + 2, defer }
        }
        other => other,
    }));
    let op = AluOp::B;
    insns.push(Insn::Alu { dst: b, a: Operand::None, op, b: a, both_banks: false });
    insns.push(branch(FIRST_EXIT));
    Listing::new(insns)
}

#[test]
fn results_become_actions_of_the_firmware() {
    // Aborted: drop and count; drop; pass; TX: redirect. All other results count as aborted.
    let expected = [0x82, 0x22, 0x11, 0x44, 0x82, 0x82];
    for (result, expected) in (0..).zip(expected) {
        let listing = end_of_program(result);
        let options = LiftOptions { stores_result: true, ..LiftOptions::default() };
        let program = lift(&listing, "end", &options).expect("it has a meaning");
        let environment = Environment::with_fill(&program, 0xa5);
        let run = concrete::run(&program, &environment, 100).expect("it runs");
        let region = program.regions.iter().position(|region| region.name == "result");
        let region = slowpath_ir::RegionId::from(region.expect("it is kept"));
        let byte = |n: u64| u32::from(run.written.get(&(region, n)).copied().unwrap_or(0xa5));
        let word = (0..4).rev().fold(0, |word, n| word << 8 | byte(n));
        assert_eq!(word, expected << 16, "r0 = {result}\n{listing}");
    }
}
