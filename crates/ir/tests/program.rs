//! Tests that malformed programs are rejected, that liveness is computed, and that dead operations
//! are removed.

use crate::common;

use common::{copy, program};
use slowpath_ir::{
    BinaryOp, BlockBuilder, BlockId, Draw, DrawId, Draws, Emit, InputId, InsnIdx, Liveness, Op,
    Operand, OriginOp, Reg, ValueFormat, eliminate_dead_operations,
};

#[test]
fn a_register_is_live_from_its_definition_to_its_last_use() {
    let mut program = program(&[&[1], &[1, 2], &[9]]);
    program.blocks[0].ops.push(copy(1, Operand::constant(8, 5)));
    program.blocks[2].ops.push(copy(2, Reg(1).into()));
    let liveness = Liveness::of(&program);
    assert_eq!(liveness.live_in(BlockId(0)).collect::<Vec<_>>(), [Reg(0)]);
    assert_eq!(liveness.live_in(BlockId(1)).collect::<Vec<_>>(), [Reg(0), Reg(1)]);
    assert_eq!(liveness.live_in(BlockId(2)).collect::<Vec<_>>(), [Reg(1)]);
}

#[test]
fn dead_operations_are_removed_and_stores_stay() {
    let mut program = program(&[&[1], &[9]]);
    let store = OriginOp {
        op: Op::Store { addr: Operand::constant(32, 0), value: Reg(2).into() },
        insn: InsnIdx(0),
    };
    program.blocks[0].ops = vec![
        copy(1, Operand::constant(8, 1)),
        copy(2, Operand::constant(8, 2)),
        copy(3, Reg(1).into()),
    ];
    program.blocks[1].ops = vec![store];
    eliminate_dead_operations(&mut program);
    assert_eq!(program.blocks[0].ops, [copy(2, Operand::constant(8, 2))]);
    assert_eq!(program.blocks[1].ops, [store]);
}

#[test]
fn validation_finds_widths_that_do_not_fit() {
    let mut program = program(&[&[9]]);
    assert!(program.validate().is_ok());
    program.blocks[0].ops.push(copy(1, Operand::constant(16, 1)));
    assert!(program.validate().is_err());
    program.blocks[0].ops = vec![OriginOp {
        op: Op::Binary { op: BinaryOp::Eq, dst: Reg(1), a: Reg(1).into(), b: Reg(2).into() },
        insn: InsnIdx(0),
    }];
    assert!(program.validate().is_err());
}

#[test]
fn draws_and_numbers_are_validated_and_removed() {
    let mut program = program(&[&[9]]);
    let mut ops = Vec::new();
    let mut build = BlockBuilder::new(&mut program.regs, &mut ops, InsnIdx(0));
    let drawn = build.unknown(DrawId(0), 64, 3, 9);
    let number = build.binary(BinaryOp::Intern, drawn, Operand::constant(64, 7));
    assert_eq!(build.width(number), 32);
    program.blocks[0].ops = ops;
    assert_eq!(program.validate(), Ok(()));
    let mut without = program.clone();
    eliminate_dead_operations(&mut without);
    assert_eq!(without.blocks[0].ops, []);
    let Operand::Reg(dst) = drawn else { panic!("a draw has a register") };
    let invalid = [
        Op::Unknown { dst, min: 4, max: 3, draw: DrawId(0) },
        Op::Unknown { dst: Reg(1), min: 0, max: 256, draw: DrawId(0) },
        Op::Unknown { dst, min: 3, max: 9, draw: DrawId(1) },
        Op::Binary { op: BinaryOp::Intern, dst: Reg(1), a: drawn, b: drawn },
        Op::Binary { op: BinaryOp::Intern, dst, a: drawn, b: drawn },
    ];
    for op in invalid {
        program.blocks[0].ops = vec![OriginOp { op, insn: InsnIdx(0) }];
        assert!(program.validate().is_err(), "{op:?}");
    }
}

#[test]
fn formats_of_draws_are_validated() {
    let mut program = program(&[&[9]]);
    let one = |width, max| -> Op {
        let dst = Reg(if width == 8 { 1 } else { 0 });
        Op::Unknown { dst, min: 0, max, draw: DrawId(0) }
    };
    let names: ValueFormat = ValueFormat::Names(&["no", "yes"]);
    for (reading, width, max, valid) in [
        (ValueFormat::Number, 1, 1, true),
        (ValueFormat::Signed, 8, 255, false),
        (ValueFormat::Bytes, 8, 255, true),
        (ValueFormat::Bytes, 1, 1, false),
        (ValueFormat::Time(InputId(0)), 8, 255, false),
        (names.clone(), 1, 1, true),
        (names, 8, 2, false),
    ] {
        program.draws[0].reading = reading.clone();
        program.blocks[0].ops = vec![OriginOp { op: one(width, max), insn: InsnIdx(0) }];
        assert_eq!(program.validate().is_ok(), valid, "{reading:?}, {width} bits, up to {max}");
    }
}

#[test]
fn equal_draws_are_one() {
    let draw = |result: &str| Draw {
        call: "clock".into(),
        result: result.into(),
        reading: ValueFormat::Number,
        determined: false,
    };
    let mut draws = Draws::default();
    let ids = ["a", "b", "a"].map(|result| draws.id(draw(result)));
    assert_eq!(ids, [DrawId(0), DrawId(1), DrawId(0)]);
    assert_eq!(draws.into_table(), [draw("a"), draw("b")]);
}
