//! Tests that compute ranges of values that are stored to memory and loaded again.

use crate::support;

use slowpath_ir::{BinaryOp, BlockBuilder, BlockId, Emit, Operand, Reg, RegionKind};
use slowpath_ranges::{Domain, MemoryModel, Options, analyze, analyze_with};
use support::program::{Builder, k};

/// Returns the range of the value that a block computes.
fn value(
    mut program: Builder,
    memory: MemoryModel,
    of: impl FnOnce(&mut BlockBuilder<'_>) -> Operand,
) -> Domain {
    let result = program.reg(64);
    program.jump(
        |b| {
            let value = of(b);
            let value = b.zero_extend(value, 64);
            b.copy(result, value);
        },
        Some(1),
    );
    program.end(&[result]);
    assert_eq!(program.program.validate(), Ok(()));
    let ranges = analyze_with(&program.program, &Options { memory, ..Options::default() });
    ranges.on_entry(BlockId(1), result).expect("alive")
}

fn at(b: &mut BlockBuilder<'_>, base: Reg, offset: u64) -> Operand {
    b.binary(BinaryOp::Add, base, k(offset))
}

#[test]
fn a_spilled_value_is_loaded() {
    for memory in [MemoryModel::Every, MemoryModel::Slots] {
        let mut program = Builder::new();
        let (stack, x) = (program.region(RegionKind::Stack), program.between(64, 3, 9));
        let domain = value(program, memory, |b| {
            let place = at(b, stack, 504);
            b.store(place, x);
            let again = at(b, stack, 500);
            let again = b.binary(BinaryOp::Add, again, k(4));
            b.load(again, 8)
        });
        assert_eq!((domain.lo(), domain.hi()), (3, 9));
    }
}

#[test]
fn parts_of_values_and_values_of_parts_are_known() {
    let run = |memory| {
        let mut program = Builder::new();
        let stack = program.region(RegionKind::Stack);
        let (x, y) = (program.between(32, 3, 9), program.between(16, 1, 2));
        value(program, memory, |b| {
            b.store(stack, k(0x1122_3344_5566_7788));
            b.store(stack, x);
            let place = at(b, stack, 6);
            b.store(place, y);
            b.load(stack, 8)
        })
    };
    let domain = run(MemoryModel::Every);
    assert_eq!((domain.lo(), domain.hi()), (0x0001_3344_0000_0003, 0x0002_3344_0000_0009));
    assert!(run(MemoryModel::Slots).is_full());
}

#[test]
fn the_verifier_tracks_zeros_of_any_size() {
    let mut program = Builder::new();
    let stack = program.region(RegionKind::Stack);
    let domain = value(program, MemoryModel::Slots, |b| {
        b.store(stack, k(0));
        let place = at(b, stack, 4);
        b.store(place, Operand::constant(8, 7));
        let place = at(b, stack, 5);
        b.store(place, Operand::constant(16, 0));
        let place = at(b, stack, 5);
        b.load(place, 4)
    });
    assert!(domain.hi() <= 0xffff_ffff && domain.lo() == 0 && domain.hi() > 0, "{domain:?}");
    let mut program = Builder::new();
    let stack = program.region(RegionKind::Stack);
    let domain = value(program, MemoryModel::Slots, |b| {
        b.store(stack, k(0));
        let place = at(b, stack, 4);
        b.store(place, Operand::constant(8, 7));
        b.load(stack, 4)
    });
    assert_eq!(domain.as_constant(), Some(0));
}

#[test]
fn stores_to_unknown_addresses_forget_memory() {
    let run = |offset: (u64, u64), other_region: bool| {
        let mut program = Builder::new();
        let stack = program.region(RegionKind::Stack);
        let packet = program.region(RegionKind::Packet);
        let distance = program.between(64, offset.0, offset.1);
        value(program, MemoryModel::Every, |b| {
            let place = at(b, stack, 16);
            b.store(place, k(77));
            let base = if other_region { packet } else { stack };
            let hit = b.binary(BinaryOp::Add, base, distance);
            b.store(hit, Operand::constant(32, 1));
            let place = at(b, stack, 16);
            b.load(place, 8)
        })
    };
    assert_eq!(run((0, 12), false).as_constant(), Some(77));
    assert_eq!(run((24, 100), false).as_constant(), Some(77));
    assert!(run((0, 13), false).is_full());
    assert!(run((23, 30), false).is_full());
    assert!(run((0, u64::MAX), false).is_full());
    assert_eq!(run((0, u64::MAX), true).as_constant(), Some(77));
}

#[test]
fn a_store_through_any_number_forgets_everything() {
    let mut program = Builder::new();
    let (stack, pointer) = (program.region(RegionKind::Stack), program.any(64));
    let domain = value(program, MemoryModel::Every, |b| {
        b.store(stack, k(5));
        b.store(pointer, Operand::constant(8, 1));
        b.load(stack, 8)
    });
    assert!(domain.is_full());
}

#[test]
fn a_pointer_checked_for_null_writes_only_to_its_region() {
    let mut program = Builder::new();
    let (stack, map) = (program.region(RegionKind::Stack), program.region(RegionKind::Map));
    let (found, pointer, x) = (program.any(1), program.reg(64), program.reg(64));
    program.branch(
        |b| {
            b.store(stack, k(5));
            let element = b.binary(BinaryOp::Add, map, k(64));
            let value = b.select(found, element, k(0));
            b.copy(pointer, value);
            b.binary(BinaryOp::Eq, pointer, k(0))
        },
        Some(2),
        Some(1),
    );
    program.jump(|b| b.store(pointer, k(1)), Some(2));
    program.jump(
        |b| {
            let value = b.load(stack, 8);
            b.copy(x, value);
        },
        Some(3),
    );
    program.end(&[x]);
    let ranges = analyze(&program.program);
    let domain = ranges.on_entry(BlockId(3), x).expect("alive");
    assert_eq!(domain.as_constant(), Some(5));
}

#[test]
fn map_values_may_change_at_any_time() {
    let mut program = Builder::new();
    let map = program.region(RegionKind::Map);
    let domain = value(program, MemoryModel::Every, |b| {
        b.store(map, k(5));
        b.load(map, 8)
    });
    assert!(domain.is_full());
}

#[test]
fn a_packet_byte_that_is_read_twice_is_the_same() {
    let mut program = Builder::new();
    let (packet, x) = (program.region(RegionKind::Packet), program.reg(8));
    program.branch(
        |b| {
            let byte = b.load(packet, 1);
            b.binary(BinaryOp::Ult, byte, Operand::constant(8, 6))
        },
        Some(1),
        None,
    );
    program.jump(
        |b| {
            let byte = b.load(packet, 1);
            b.copy(x, byte);
        },
        Some(2),
    );
    program.end(&[x]);
    let hi = |memory| {
        let options = Options { memory, ..Options::default() };
        let ranges = analyze_with(&program.program, &options);
        ranges.on_entry(BlockId(2), x).expect("alive").hi()
    };
    assert_eq!((hi(MemoryModel::Every), hi(MemoryModel::Slots)), (5, 255));
}

#[test]
fn distances_in_a_region_do_not_depend_on_its_base() {
    let mut program = Builder::new();
    let (packet, length) = (program.region(RegionKind::Packet), program.between(64, 60, 1500));
    let domain = value(program, MemoryModel::Every, |b| {
        let end = b.binary(BinaryOp::Add, packet, length);
        let header = at(b, packet, 14);
        b.binary(BinaryOp::Sub, end, header)
    });
    assert_eq!((domain.lo(), domain.hi()), (46, 1486));
}
