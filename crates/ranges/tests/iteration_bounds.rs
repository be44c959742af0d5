//! Tests that compare bounds on loop iterations with the actual iterations of many 8-bit loops.

use crate::support;

use slowpath_ir::{BinaryOp, Emit, FlowGraph, Operand, Program, Reg};
use slowpath_ranges::{analyze, iteration_bounds};
use slowpath_stop::Stop;
use support::program::Builder;

/// The comparison of a loop's counter with its end value that decides whether the loop continues.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    Below,
    SignedBelow,
    NotEqual,
}

/// Form of a tested loop: the position of the test in the loop, and the storage of the counter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// `while (i < n) i += step`
    Before,
    /// `do i += step while (i < n)`
    After,
    /// Like `Before`, with the counter in memory.
    Spilled,
}

#[derive(Clone, Copy, Debug)]
struct Loop {
    start: u8,
    step: u8,
    /// Minimum and maximum of the end value, with which the loop compares its counter.
    end: (u8, u8),
    test: Test,
    shape: Shape,
}

fn byte(value: u8) -> Operand {
    Operand::constant(8, value.into())
}

fn continues<E: Emit>(b: &mut E, test: Test, i: Operand, n: Reg) -> Operand {
    match test {
        Test::Below => b.binary(BinaryOp::Ult, i, n),
        Test::SignedBelow => b.binary(BinaryOp::Slt, i, n),
        Test::NotEqual => {
            let same = b.binary(BinaryOp::Eq, i, n);
            b.not(same)
        }
    }
}

fn program(of: Loop) -> Program {
    let mut program = Builder::new();
    let n = program.between(8, of.end.0.into(), of.end.1.into());
    let i = program.reg(8);
    match of.shape {
        Shape::Before => {
            program.jump(|b| b.copy(i, byte(of.start)), Some(1));
            program.branch(|b| continues(b, of.test, i.into(), n), Some(2), Some(3));
            program.advance(i, BinaryOp::Add, byte(of.step), 1);
        }
        Shape::After => {
            program.jump(|b| b.copy(i, byte(of.start)), Some(1));
            program.branch(
                |b| {
                    let next = b.binary(BinaryOp::Add, i, byte(of.step));
                    b.copy(i, next);
                    continues(b, of.test, i.into(), n)
                },
                Some(1),
                Some(2),
            );
        }
        Shape::Spilled => {
            let stack = program.region(slowpath_ir::RegionKind::Stack);
            program.jump(|b| b.store(stack, byte(of.start)), Some(1));
            program.branch(
                |b| {
                    let now = b.load(stack, 1);
                    continues(b, of.test, now, n)
                },
                Some(2),
                Some(3),
            );
            program.jump(
                |b| {
                    let now = b.load(stack, 1);
                    let next = b.binary(BinaryOp::Add, now, byte(of.step));
                    b.store(stack, next);
                },
                Some(1),
            );
        }
    }
    program.end(&[]);
    program.program
}

/// Returns the number of executions of the loop's header; `None` for an endless loop.
fn counted(of: Loop, end: u8) -> Option<u64> {
    let continues = |i: u8| match of.test {
        Test::Below => i < end,
        Test::SignedBelow => (i as i8) < end as i8,
        Test::NotEqual => i != end,
    };
    let mut i = of.start;
    // An 8-bit counter that does not reach its end within 256 iterations never does.
    (1..=257).find(|_| match of.shape {
        Shape::Before | Shape::Spilled => {
            let ended = !continues(i);
            i = i.wrapping_add(of.step);
            ended
        }
        Shape::After => {
            i = i.wrapping_add(of.step);
            !continues(i)
        }
    })
}

fn found(of: Loop) -> Option<u64> {
    let program = program(of);
    let flow = FlowGraph::of(&program).expect("one entry");
    let ranges = analyze(&program);
    iteration_bounds(&program, &flow, &ranges, &Stop::never()).expect("nothing stops it")[0]
}

#[test]
fn no_loop_exceeds_its_bound() {
    let (mut known, mut all) = (0, 0);
    for shape in [Shape::Before, Shape::After, Shape::Spilled] {
        for test in [Test::Below, Test::SignedBelow, Test::NotEqual] {
            for start in [0, 1, 7, 100, 128, 250] {
                for step in [1, 2, 3, 8, 127, 128, 248, 254, 255] {
                    for end in [(0, 0), (8, 8), (5, 20), (120, 140), (200, 255), (0, 255)] {
                        let of = Loop { start, step, end, test, shape };
                        let Some(most) = found(of) else { continue };
                        (known, all) = (known + 1, all + 1);
                        for end in end.0..=end.1 {
                            let counted = counted(of, end);
                            assert!(
                                counted.is_some_and(|counted| counted <= most),
                                "{of:?} to {end}: {counted:?} rounds, {most} found"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(known > 200, "{known} of {all} loops have a limit");
}

#[test]
fn bounds_of_simple_counters_are_exact() {
    for shape in [Shape::Before, Shape::Spilled] {
        let of = |start, step, end| Loop { start, step, end: (end, end), test: Test::Below, shape };
        assert_eq!(found(of(0, 1, 17)), Some(18));
        assert_eq!(found(of(0, 8, 96)), Some(13));
    }
}
