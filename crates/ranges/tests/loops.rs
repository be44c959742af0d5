//! Tests that compute ranges of values that change in loops.

use crate::support;

use slowpath_ir::{BinaryOp, BlockId, Emit, Operand, Reg};
use slowpath_ranges::{Ranges, analyze};
use support::program::{Builder, k};

fn bounds(ranges: &Ranges, block: u32, reg: Reg) -> (u64, u64) {
    let domain = ranges.on_entry(BlockId(block), reg);
    let domain = domain.unwrap_or_else(|| panic!("{block} is dead"));
    (domain.lo(), domain.hi())
}

#[test]
fn a_counter_stays_below_its_limit() {
    let mut program = Builder::new();
    let i = program.reg(64);
    program.jump(|b| b.copy(i, k(0)), Some(1));
    program.branch(|b| b.binary(BinaryOp::Ult, i, k(1000)), Some(2), Some(3));
    program.advance(i, BinaryOp::Add, k(1), 1);
    program.end(&[i]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, 1, i), (0, 1000));
    assert_eq!(bounds(&ranges, 2, i), (0, 999));
    assert_eq!(bounds(&ranges, 3, i), (1000, 1000));
}

#[test]
fn a_counter_stops_at_an_equality() {
    let mut program = Builder::new();
    let i = program.reg(32);
    let c = |value| Operand::constant(32, value);
    program.jump(|b| b.copy(i, c(0)), Some(1));
    program.branch(
        |b| {
            let next = b.binary(BinaryOp::Add, i, c(1));
            b.copy(i, next);
            b.binary(BinaryOp::Eq, i, c(160))
        },
        Some(2),
        Some(1),
    );
    program.end(&[i]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, 1, i), (0, 159));
    assert_eq!(bounds(&ranges, 2, i), (160, 160));
}

#[test]
fn a_counter_can_count_down_and_below_zero() {
    let mut program = Builder::new();
    let i = program.reg(64);
    program.jump(|b| b.copy(i, k(50)), Some(1));
    program.branch(|b| b.binary(BinaryOp::Slt, i, k(0)), Some(3), Some(2));
    program.advance(i, BinaryOp::Sub, k(1), 1);
    program.end(&[i]);
    let ranges = analyze(&program.program);
    let domain = ranges.on_entry(BlockId(1), i).expect("alive");
    assert_eq!(domain.signed_range(), (-1, 50));
    assert_eq!(bounds(&ranges, 2, i), (0, 50));
    assert_eq!(bounds(&ranges, 3, i), (u64::MAX, u64::MAX));
}

#[test]
fn the_limit_can_be_a_register() {
    let mut program = Builder::new();
    let (i, n) = (program.reg(64), program.between(64, 5, 64));
    program.jump(|b| b.copy(i, k(0)), Some(1));
    program.branch(|b| b.binary(BinaryOp::Ult, i, n), Some(2), Some(3));
    program.advance(i, BinaryOp::Add, k(1), 1);
    program.end(&[i, n]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, 2, i), (0, 63));
    assert_eq!(bounds(&ranges, 3, i), (5, 64));
    assert_eq!(bounds(&ranges, 3, n), (5, 64));
}

#[test]
fn loops_in_loops_have_their_own_counters() {
    let mut program = Builder::new();
    let (i, j) = (program.reg(64), program.reg(64));
    program.jump(|b| b.copy(i, k(0)), Some(1));
    program.branch(|b| b.binary(BinaryOp::Ult, i, k(10)), Some(2), Some(6));
    program.jump(|b| b.copy(j, i), Some(3));
    program.branch(|b| b.binary(BinaryOp::Ult, j, k(20)), Some(4), Some(5));
    program.advance(j, BinaryOp::Add, k(1), 3);
    program.advance(i, BinaryOp::Add, k(1), 1);
    program.end(&[i, j]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, 4, i), (0, 9));
    assert_eq!(bounds(&ranges, 4, j), (0, 19));
    assert_eq!(bounds(&ranges, 5, j), (20, 20));
    assert_eq!(bounds(&ranges, 6, i), (10, 10));
}

#[test]
fn registers_that_a_loop_does_not_change_stay_known() {
    let mut program = Builder::new();
    let (x, i) = (program.between(64, 3, 4), program.any(64));
    program.branch(
        |b| {
            let next = b.binary(BinaryOp::Mul, i, k(3));
            b.copy(i, next);
            b.binary(BinaryOp::Eq, i, k(17))
        },
        Some(1),
        Some(0),
    );
    program.end(&[x, i]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, 0, x), (3, 4));
    assert_eq!(bounds(&ranges, 1, i), (17, 17));
}

#[test]
fn a_loop_with_two_entries_ends_as_well() {
    let mut program = Builder::new();
    let (x, i) = (program.any(1), program.reg(64));
    program.branch(
        |b| {
            b.copy(i, k(1));
            let not = b.not(x);
            b.not(not)
        },
        Some(1),
        Some(2),
    );
    program.advance(i, BinaryOp::Add, k(2), 2);
    program.branch(|b| b.binary(BinaryOp::Ult, i, k(100)), Some(1), Some(3));
    program.end(&[i]);
    let ranges = analyze(&program.program);
    let domain = ranges.on_entry(BlockId(3), i).expect("alive");
    assert!(domain.lo() >= 100 && domain.ones() & 1 == 1, "{domain:?}");
}
