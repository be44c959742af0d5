//! Tests that branches restrict the ranges of the values that their conditions depend on.

use crate::support;

use slowpath_ir::{BinaryOp, BlockBuilder, BlockId, Emit, Op, Operand, Reg};
use slowpath_ranges::{Domain, Options, Ranges, analyze, analyze_with};
use support::program::{Builder, k};

const YES: BlockId = BlockId(1);
const NO: BlockId = BlockId(2);

/// Analyses a program that branches to block 1 or block 2. `of` emits the branch condition, and
/// both blocks read the registers in `reads`.
fn branch(
    mut program: Builder,
    reads: &[Reg],
    of: impl FnOnce(&mut BlockBuilder<'_>) -> Operand,
) -> Ranges {
    program.branch(of, Some(1), Some(2));
    program.end(reads);
    program.end(reads);
    assert_eq!(program.program.validate(), Ok(()));
    analyze(&program.program)
}

fn bounds(ranges: &Ranges, block: BlockId, reg: Reg) -> (u64, u64) {
    let domain = ranges.on_entry(block, reg).unwrap_or_else(|| panic!("{block:?} is dead"));
    (domain.lo(), domain.hi())
}

#[test]
fn comparisons_with_constants_give_the_best_bounds() {
    let signed = |v: u64| v as u8 as i8;
    type Holds = fn(u64, u64) -> bool;
    let comparisons: [(BinaryOp, Holds); 3] = [
        (BinaryOp::Eq, |a, b| a == b),
        (BinaryOp::Ult, |a, b| a < b),
        (BinaryOp::Slt, |a, b| (a as u8 as i8) < (b as u8 as i8)),
    ];
    assert_eq!(signed(255), -1);
    for (op, holds) in comparisons {
        for constant in [0u64, 1, 5, 126, 127, 128, 129, 254, 255] {
            for swapped in [false, true] {
                let mut program = Builder::new();
                let x = program.any(8);
                let ranges = branch(program, &[x], |b| {
                    let c = Operand::constant(8, constant);
                    if swapped { b.binary(op, c, x) } else { b.binary(op, x, c) }
                });
                for (block, value) in [(YES, true), (NO, false)] {
                    let true_for = |v: &u64| {
                        let (a, b) = if swapped { (constant, *v) } else { (*v, constant) };
                        holds(a, b) == value
                    };
                    let members = (0..256).filter(true_for).map(|v| Domain::constant(8, v));
                    let best = members.reduce(|all, one| all.join(&one));
                    assert_eq!(ranges.on_entry(block, x), best, "{op:?} {constant} {swapped}");
                }
            }
        }
    }
}

#[test]
fn both_sides_of_a_comparison_are_refined() {
    let mut program = Builder::new();
    let (x, y) = (program.between(64, 10, 100), program.between(64, 50, 200));
    let ranges = branch(program, &[x, y], |b| b.binary(BinaryOp::Ult, y, x));
    assert_eq!((bounds(&ranges, YES, x), bounds(&ranges, YES, y)), ((51, 100), (50, 99)));
    assert_eq!((bounds(&ranges, NO, x), bounds(&ranges, NO, y)), ((10, 100), (50, 200)));
}

#[test]
fn registers_behind_a_computation_are_refined() {
    let mut program = Builder::new();
    let (x, wide) = (program.between(64, 0, 0xffff), program.any(64));
    let shifted = program.reg(64);
    let ranges = branch(program, &[x, wide, shifted], |b| {
        let quarter = b.binary(BinaryOp::Lshr, x, k(2));
        let low = b.extract(quarter, 0, 32);
        let sum = b.binary(BinaryOp::Add, low, Operand::constant(32, 5));
        b.copy(shifted, quarter);
        b.binary(BinaryOp::Ult, sum, Operand::constant(32, 10))
    });
    assert_eq!(bounds(&ranges, YES, shifted), (0, 4));
    assert_eq!(bounds(&ranges, YES, x), (0, 19));
    assert_eq!(bounds(&ranges, NO, x), (20, 0xffff));
    assert!(ranges.on_entry(YES, wide).is_some_and(|domain| domain.is_full()));
}

#[test]
fn equal_registers_are_refined_together() {
    let mut program = Builder::new();
    let (x, y, masked) = (program.any(64), program.reg(64), program.reg(64));
    let ranges = branch(program, &[x, y, masked], |b| {
        b.copy(y, x);
        let and = b.binary(BinaryOp::And, x, k(0xf8));
        b.copy(masked, and);
        b.binary(BinaryOp::Ult, y, k(20))
    });
    assert_eq!((bounds(&ranges, YES, x), bounds(&ranges, YES, y)), ((0, 19), (0, 19)));
    assert_eq!(bounds(&ranges, YES, masked), (0, 16));
    assert_eq!(bounds(&ranges, NO, x), (20, u64::MAX));
}

#[test]
fn tested_bits_are_known() {
    let mut program = Builder::new();
    let x = program.any(64);
    let ranges = branch(program, &[x], |b| {
        let bits = b.binary(BinaryOp::And, x, k(0x30));
        b.binary(BinaryOp::Eq, bits, k(0x10))
    });
    let domain = ranges.on_entry(YES, x).expect("alive");
    assert_eq!((domain.ones(), domain.zeros()), (0x10, 0x20));
    assert!(ranges.on_entry(NO, x).is_some_and(|domain| domain.is_full()));
}

#[test]
fn combined_conditions_are_refined() {
    let mut program = Builder::new();
    let x = program.any(64);
    let ranges = branch(program, &[x], |b| {
        let low = b.binary(BinaryOp::Ult, x, k(10));
        let high = b.binary(BinaryOp::Ult, k(20), x);
        let outside = b.binary(BinaryOp::Or, low, high);
        let inside = b.not(outside);
        b.binary(BinaryOp::Xor, inside, Operand::constant(1, 1))
    });
    assert_eq!(bounds(&ranges, NO, x), (10, 20));
    assert_eq!(bounds(&ranges, YES, x), (0, u64::MAX));
}

#[test]
fn a_selection_is_refined_by_its_result() {
    let mut program = Builder::new();
    let (x, found) = (program.between(64, 1, 50), program.any(1));
    let chosen = program.reg(64);
    let ranges = branch(program, &[chosen, found], |b| {
        let value = b.select(found, x, k(0));
        b.copy(chosen, value);
        b.binary(BinaryOp::Eq, value, k(0))
    });
    assert_eq!(bounds(&ranges, NO, chosen), (1, 50));
    assert_eq!(bounds(&ranges, NO, found), (1, 1));
    assert_eq!(bounds(&ranges, YES, found), (0, 0));
}

#[test]
fn code_behind_refuted_edges_is_dead() {
    let mut program = Builder::new();
    let x = program.between(64, 0, 31);
    let y = program.reg(64);
    program.branch(|b| b.binary(BinaryOp::Ult, k(31), x), Some(1), Some(2));
    program.jump(|b| b.copy(y, k(1)), Some(3));
    program.jump(|b| b.copy(y, k(7)), Some(3));
    program.end(&[y]);
    let ranges = analyze(&program.program);
    assert!(!ranges.is_reachable(BlockId(1)) && ranges.is_reachable(BlockId(2)));
    assert!(!ranges.edge_reachable(BlockId(0), 0) && ranges.edge_reachable(BlockId(0), 1));
    assert!(!ranges.edge_reachable(BlockId(1), 0));
    assert_eq!(ranges.on_entry(BlockId(1), x), None);
    assert_eq!(bounds(&ranges, BlockId(3), y), (7, 7));
    // Analyse the program again, with a condition that stays undecided.
    let options = Options { undecided: &[BlockId(0)], ..Options::default() };
    let ranges = analyze_with(&program.program, &options);
    assert!(ranges.edge_reachable(BlockId(0), 0) && ranges.edge_reachable(BlockId(0), 1));
    assert_eq!(bounds(&ranges, BlockId(3), y), (1, 7));
}

#[test]
fn nested_conditions_are_combined_and_joined() {
    let mut program = Builder::new();
    let x = program.any(64);
    program.branch(|b| b.binary(BinaryOp::Ult, x, k(100)), Some(1), Some(4));
    program.branch(|b| b.binary(BinaryOp::Slt, k(9), x), Some(2), Some(3));
    program.branch(|b| b.binary(BinaryOp::Eq, x, k(10)), Some(4), Some(3));
    program.end(&[x]);
    program.end(&[x]);
    let ranges = analyze(&program.program);
    assert_eq!(bounds(&ranges, BlockId(2), x), (10, 99));
    assert_eq!(bounds(&ranges, BlockId(3), x), (0, 99));
    assert_eq!(bounds(&ranges, BlockId(4), x), (10, u64::MAX));
}

#[test]
fn states_within_a_block_follow_its_instructions() {
    let mut program = Builder::new();
    let (x, y) = (program.between(64, 1, 3), program.reg(64));
    program.jump(
        |b| {
            let twice = b.binary(BinaryOp::Mul, x, k(2));
            b.copy(y, twice);
        },
        None,
    );
    let ops = &mut program.program.blocks[0].ops;
    ops[1].insn.0 = 1;
    let end = slowpath_ir::OriginOp {
        op: Op::Store { addr: x.into(), value: y.into() },
        insn: slowpath_ir::InsnIdx(2),
    };
    ops.push(end);
    let ranges = analyze(&program.program);
    let mut seen = Vec::new();
    ranges.walk(&program.program, BlockId(0), |insn, state| {
        seen.push((insn.0, state.value(x).hi(), state.value(y).hi()));
    });
    assert_eq!(seen, [(0, 3, u64::MAX), (1, 3, u64::MAX), (2, 3, 6)]);
}
