//! Shrinking preserves validity, and its result is little more than the cause of the failure.

use crate::common;

use common::{insns, lifted};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use slowpath_bpf::insn::{AluOp, Insn};
use slowpath_generate::{Features, Generated, programs};

/// Shrinks a program for which the test fails, as proptest does.
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
    let mut on = tree.simplify();
    while on {
        let program = tree.current();
        lifted(&program);
        if fails(&program) {
            least = program;
            on = tree.simplify();
        } else {
            on = tree.complicate();
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
    // Statements around the division remain; everything else is removed.
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
