//! Tests that run the examples with random inputs in the concrete interpreter. They check that
//! registers stay within the computed ranges at the start of each block.

use crate::support;

use slowpath_exec::concrete::run_observed;
use slowpath_ir::{Liveness, Program, Reg};
use slowpath_ranges::analyze;
use support::{Random, bpf_programs, environment, examples, nfp_program};

const RUNS: usize = 150;
const LONGEST: usize = 20_000;

/// Runs a program and compares its registers with their ranges. Returns the number of compared
/// values.
fn check(name: &str, program: &Program) -> usize {
    let ranges = analyze(program);
    let liveness = Liveness::of(program);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared = 0;
    for number in 0..RUNS {
        let environment = environment(program, &mut random);
        let entered = |block, regs: &[u64]| {
            assert!(ranges.is_reachable(block), "{name}, run {number}: {block:?} is not dead");
            for reg in liveness.live_in(block) {
                let Some(domain) = ranges.on_entry(block, reg) else { continue };
                let value = regs[reg.index()];
                let info = &program.regs[reg.index()].name;
                assert!(domain.contains(value), "{name} {block:?} {info}: {value:#x} {domain:?}");
                compared += 1;
            }
        };
        let Ok(run) = run_observed(program, &environment, LONGEST, entered) else { continue };
        for taken in run.path {
            assert!(ranges.edge_reachable(taken.block, taken.edge), "{name}: {taken:?}");
        }
    }
    compared
}

#[test]
fn runs_of_bpf_examples_stay_within_ranges() {
    let mut compared = 0;
    for file in examples(".bpf.o") {
        for program in bpf_programs(&file) {
            compared += check(&format!("{file:?} {}", program.name), &program);
        }
    }
    assert!(compared > 100_000, "{compared}");
}

#[test]
fn runs_of_nfp_examples_stay_within_ranges() {
    let mut compared = 0;
    for file in examples(".asm") {
        compared += check(&format!("{file:?}"), &nfp_program(&file));
    }
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn dead_registers_have_every_value() {
    for file in examples("firewall.bpf.o") {
        for program in bpf_programs(&file) {
            let ranges = analyze(&program);
            let liveness = Liveness::of(&program);
            for block in (0..program.blocks.len()).map(slowpath_ir::BlockId::from) {
                let live: Vec<Reg> = liveness.live_in(block).collect();
                for reg in (0..program.regs.len()).map(Reg::from).filter(|reg| !live.contains(reg))
                {
                    assert!(ranges.on_entry(block, reg).is_none_or(|domain| domain.is_full()));
                }
            }
        }
    }
}
