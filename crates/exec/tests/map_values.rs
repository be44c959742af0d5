//! Tests symbolic loads and stores at addresses of map values. Such an address can depend on a key
//! (`Intern`), be null, or be one of several positions in an element. Also tests unknown values and
//! tables of constants.

use crate::straight;

use slowpath_exec::{ExecError, Executor, Resolver};
use slowpath_ir::{BinaryOp, BlockBuilder, BlockId, DrawId, Emit, Operand, RegionId};
use slowpath_smt::TermId;
use std::rc::Rc;
use straight::{
    COND, HASH, HASH_REGION, PACKET, POINT, TABLE, element, execute, k, look_up, packet, program,
};

/// Returns the branch condition of a program that compares the value from `body` with `wanted`.
fn compared(
    wanted: Operand,
    body: impl FnOnce(&mut BlockBuilder<'_>) -> Operand,
) -> (Executor, TermId) {
    execute(&program(|b| {
        let value = body(b);
        let same = b.binary(BinaryOp::Eq, value, wanted);
        b.copy(COND, same);
    }))
}

#[track_caller]
fn shows(found: (Executor, TermId), expected: &str) {
    assert_eq!(found.0.pool.display(found.1), expected);
}

fn byte(value: u64) -> Operand {
    Operand::constant(8, value)
}

#[test]
fn elements_of_different_places_do_not_meet() {
    // The keys may be equal, but positions 4 and 8 of an element differ.
    let found = compared(byte(7), |b| {
        let (x, y) = (packet(b, 0, 8), packet(b, 8, 8));
        let (first, second) = (element(b, x, k(0), 8), element(b, y, k(0), 0));
        b.store(first, Operand::constant(32, 0x0707_0707));
        b.store(second, Operand::constant(32, 0x0909_0909));
        let place = b.binary(BinaryOp::Add, first, k(3));
        b.load(place, 1)
    });
    shows(found, "1:1");
}

#[test]
fn elements_meet_where_their_keys_are_equal() {
    let stored = |b: &mut BlockBuilder<'_>| {
        let (x, y) = (packet(b, 0, 1), packet(b, 1, 1));
        let (first, second) = (element(b, x, k(0), 8), element(b, y, k(0), 8));
        b.store(first, Operand::constant(16, 0x0007));
        b.store(second, Operand::constant(16, 0x0109));
        b.load(first, 1)
    };
    shows(compared(byte(7), stored), "~(packet[0:64] == packet[1:64])");
    shows(compared(byte(9), stored), "(packet[0:64] == packet[1:64])");
    shows(compared(byte(8), stored), "0:1");
    // The number of a chain of keys differs from the number of each part.
    let chained = |b: &mut BlockBuilder<'_>| {
        let (x, y) = (packet(b, 0, 1), packet(b, 1, 1));
        let [first, second] = [x, y].map(|key| {
            let number = b.binary(BinaryOp::Intern, key, k(1));
            let number = b.zero_extend(number, 64);
            element(b, number, k(2), 8)
        });
        b.store(first, byte(7));
        b.store(second, byte(9));
        b.load(first, 1)
    };
    shows(compared(byte(7), chained), "~(packet[0:64] == packet[1:64])");
}

#[test]
fn words_of_elements_stay_words() {
    let word = |value| Operand::constant(32, value);
    let found = compared(word(0x0102_0304), |b| {
        let (x, y) = (packet(b, 0, 1), packet(b, 1, 1));
        let (first, second) = (element(b, x, k(0), 8), element(b, y, k(0), 8));
        b.store(first, word(0x0102_0304));
        b.store(second, word(0x0102_0305));
        b.load(first, 4)
    });
    shows(found, "~(packet[0:64] == packet[1:64])");
    // The previous value is a possible result as well.
    let found = compared(word(0x0102_0304), |b| {
        let (x, y) = (packet(b, 0, 1), packet(b, 1, 1));
        let (first, second) = (element(b, x, k(0), 8), element(b, y, k(0), 8));
        b.store(second, word(0x0102_0304));
        b.load(first, 4)
    });
    let shown = found.0.pool.display(found.1);
    assert!(shown.starts_with("((packet[0:64] == packet[1:64]) | "), "{shown}");
}

#[test]
fn found_elements_are_accessed_behind_null() {
    // The programs access the element without a check for null, so null must be ignored.
    type Change = fn(&mut BlockBuilder<'_>, Operand) -> Operand;
    let changes: [Change; 4] = [
        |_, found| found,
        |b, found| {
            let null = b.binary(BinaryOp::Eq, found, k(0));
            b.select(null, k(0), found)
        },
        |b, found| {
            let further = b.binary(BinaryOp::Add, found, k(4));
            b.binary(BinaryOp::Sub, further, k(4))
        },
        |b, found| {
            let byte = packet(b, 5, 1);
            let other = b.binary(BinaryOp::Eq, byte, k(3));
            b.select(other, k(0), found)
        },
    ];
    for change in changes {
        let found = compared(Operand::constant(32, 0x0102_0304), |b| {
            let key = packet(b, 0, 4);
            let found = look_up(b, key);
            let found = change(b, found);
            let place = b.binary(BinaryOp::Add, found, k(2));
            b.store(place, Operand::constant(32, 0x0102_0304));
            let same = element(b, key, k(0), 10);
            b.load(same, 4)
        });
        shows(found, "1:1");
        let found = compared(Operand::constant(16, 0x0102), |b| {
            let key = packet(b, 0, 4);
            let same = element(b, key, k(0), 8);
            b.store(same, Operand::constant(32, 0x0102_0304));
            let found = look_up(b, key);
            let found = change(b, found);
            let place = b.binary(BinaryOp::Add, found, k(2));
            b.load(place, 2)
        });
        shows(found, "1:1");
    }
}

#[test]
fn null_is_seen_in_comparisons() {
    let found = compared(k(0), |b| {
        let key = packet(b, 0, 1);
        look_up(b, key)
    });
    let number = "intern((0:56 . packet[0:64]), 0:64)";
    shows(found, &format!("~(hash[(0:28 . ({number} . 0:4))] == 0:8)"));
}

#[test]
fn a_choice_between_places_of_a_region_is_one_place() {
    let found = compared(byte(7), |b| {
        let flag = packet(b, 0, 1);
        let set = b.binary(BinaryOp::Eq, flag, k(1));
        let [near, far] = [20, 30].map(|offset| b.binary(BinaryOp::Add, PACKET, k(offset)));
        let chosen = b.select(set, near, far);
        let chosen = b.binary(BinaryOp::Add, chosen, k(1));
        b.store(chosen, byte(7));
        let place = b.binary(BinaryOp::Add, PACKET, k(31));
        b.load(place, 1)
    });
    shows(found, "(~(packet[0:64] == 1:8) | (packet[0x1f:64] == 7:8))");
}

#[test]
fn a_choice_between_regions_or_offsets_is_no_place() {
    let refused = |body: fn(&mut BlockBuilder<'_>) -> Operand| {
        let program = program(|b| {
            let place = body(b);
            let read = b.load(place, 1);
            let seven = b.binary(BinaryOp::Eq, read, byte(7));
            b.copy(COND, seven);
        });
        let (mut executor, mut state) = Executor::new(Rc::new(program)).expect("starts");
        let condition = executor.run_block(POINT, BlockId(0), &mut state).expect("runs");
        let condition = condition.expect("branches");
        let result = Resolver::new().resolve(&mut executor, condition);
        assert_eq!(result, Err(ExecError::UnknownRegion { insn: 0 }));
    };
    refused(|b| {
        let flag = packet(b, 0, 1);
        let set = b.binary(BinaryOp::Eq, flag, k(1));
        b.select(set, PACKET, HASH)
    });
    refused(|b| {
        let flag = packet(b, 0, 1);
        let set = b.binary(BinaryOp::Eq, flag, k(1));
        b.select(set, k(8), k(16))
    });
    // A constant that is too large to be null.
    refused(|b| {
        let flag = packet(b, 0, 1);
        let set = b.binary(BinaryOp::Eq, flag, k(1));
        b.select(set, PACKET, k(4096))
    });
}

#[test]
fn an_offset_that_is_chosen_is_no_null() {
    let found = compared(byte(7), |b| {
        let (flag, index) = (packet(b, 0, 1), packet(b, 1, 1));
        let set = b.binary(BinaryOp::Eq, flag, k(1));
        let pointer = b.select(set, PACKET, k(0));
        let other = b.binary(BinaryOp::Eq, index, k(9));
        let offset = b.select(other, k(40), index);
        let place = b.binary(BinaryOp::Add, pointer, offset);
        b.store(place, byte(7));
        let place = b.binary(BinaryOp::Add, PACKET, k(40));
        b.load(place, 1)
    });
    let (executor, condition) = found;
    let shown = executor.pool.display(condition);
    assert!(shown.contains("packet[1:64] == 9:8"), "the choice of the offset stays: {shown}");
}

#[test]
fn tables_are_read_at_once() {
    let at = |offset: u64, bytes: u8| {
        let wanted = Operand::constant(8 * bytes, 0x0302);
        compared(wanted, |b| {
            let place = b.binary(BinaryOp::Add, TABLE, k(offset));
            b.load(place, bytes)
        })
    };
    shows(at(2, 2), "1:1");
    shows(at(1, 2), "0:1");
    let behind = compared(Operand::constant(16, 8), |b| {
        let place = b.binary(BinaryOp::Add, TABLE, k(5));
        b.load(place, 2)
    });
    shows(behind, "1:1");
    let written = compared(byte(9), |b| {
        b.store(TABLE, byte(9));
        b.load(TABLE, 1)
    });
    shows(written, "1:1");
}

#[test]
fn draws_are_listed_in_order() {
    let mut program = program(|b| {
        let first = b.unknown(DrawId(0), 64, 3, 9);
        let second = b.unknown(DrawId(0), 64, 3, 9);
        let fixed = b.unknown(DrawId(0), 64, 5, 5);
        let sum = b.binary(BinaryOp::Add, second, fixed);
        let same = b.binary(BinaryOp::Eq, first, sum);
        b.copy(COND, same);
    });
    let (mut executor, condition) = execute(&program);
    let drawn = executor.unknowns(POINT).to_vec();
    let [first, second, fixed] = drawn[..] else { panic!("three draws: {drawn:?}") };
    assert_ne!(first, second);
    assert_eq!(executor.pool.as_const(fixed), Some(5));
    let sum = executor.pool.add(second, fixed);
    assert_eq!(executor.pool.eq(first, sum), condition);
    assert_eq!((executor.pool.domain(first).lo(), executor.pool.domain(first).hi()), (3, 9));
    assert_eq!(executor.unknowns(slowpath_exec::NodeId(0)), []);
    assert_eq!(executor.prologue_unknowns(), []);
    assert_eq!(executor.array(HASH_REGION), executor.array(RegionId(1)));
    // The prologue may draw values too.
    let mut ops = Vec::new();
    BlockBuilder::new(&mut program.regs, &mut ops, slowpath_ir::InsnIdx(0)).unknown(
        DrawId(0),
        8,
        0,
        1,
    );
    program.prologue.extend(ops);
    let (executor, _) = execute(&program);
    assert_eq!(executor.prologue_unknowns().len(), 1);
    assert_eq!(executor.unknowns(POINT).len(), 3);
}
