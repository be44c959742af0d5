//! Tests that shrinking keeps random programs valid. Also tests that a shrunk program contains
//! little more than the cause of the failure.

use crate::common;

use common::{insns, lifted};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use slowpath_bpf::insn::{AluOp, Insn};
use slowpath_generate::{Features, Generated, programs};

/// Finds a random program for which `fails` returns true, and shrinks it as proptest does for a
/// failing test.
fn shrunk(fails: impl Fn(&Generated) -> bool) -> Generated {
    let mut runner = TestRunner::deterministic();
    let strategy = programs(Features::default(), 10);
    let mut tree = loop {
        let tree = strategy.new_tree(&mut runner).expect("nothing is filtered");
        if fails(&tree.current()) {
            break tree;
        }
    };
    let mut least = tree.current();
    let mut goes_on = tree.simplify();
    while goes_on {
        let program = tree.current();
        lifted(&program);
        if fails(&program) {
            least = program;
            goes_on = tree.simplify();
        } else {
            goes_on = tree.complicate();
        }
    }
    least
}

#[test]
fn a_division_shrinks_to_a_division() {
    let has = |program: &Generated| {
        insns(program).any(|insn| matches!(insn, Insn::Alu { op: AluOp::Div, .. }))
    };
    let program = shrunk(has);
    assert!(has(&program));
    // Statements that contain the division remain; all others are removed.
    assert!(program.slots() <= 24, "{program}");
}

#[test]
fn a_loop_shrinks_to_a_loop() {
    let has = |program: &Generated| {
        insns(program).any(|insn| insn.jump_offset().is_some_and(|offset| offset < 0))
    };
    let program = shrunk(has);
    assert!(has(&program));
    assert!(program.slots() <= 16, "{program}");
}
