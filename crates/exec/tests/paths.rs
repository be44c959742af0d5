//! Tests the merging of program states where paths meet, and the values of merged terms on single
//! paths.

use slowpath_exec::{ArcId, ExecError, Executor, NodeId, Resolver};
use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, Destination, Edge, Emit, Input, InputId, InputKind,
    InsnIdx, Instruction, Op, Operand, OriginOp, Program, Reg, RegInfo, Region, RegionId,
    RegionKind, Terminator,
};
use slowpath_smt::TermId;
use std::rc::Rc;

const PACKET: Reg = Reg(0);
const STACK: Reg = Reg(1);
const VALUE: Reg = Reg(2);
const POINTER: Reg = Reg(3);
const RESULT: Reg = Reg(4);
const COND: Reg = Reg(5);

type Body = fn(&mut BlockBuilder<'_>);

/// Returns a program in which block 0 branches to blocks 1 and 2, and both lead to block 3.
fn diamond(bodies: [Body; 4]) -> Program {
    let reg = |name: &str, width| RegInfo { name: name.into(), width };
    let mut regs = vec![
        reg("packet", 32),
        reg("stack", 32),
        reg("value", 8),
        reg("pointer", 32),
        reg("result", 8),
        reg("cond", 1),
    ];
    let insn = InsnIdx(0);
    let input = |dst, input| OriginOp { op: Op::Input { dst, input: InputId(input) }, insn };
    let edge = |to: u32| Edge {
        target: if to < 4 { Destination::Block(BlockId(to)) } else { Destination::Exit(0) },
        costs: Vec::new(),
    };
    let blocks = bodies.iter().enumerate().map(|(index, body)| {
        let insn = InsnIdx(index as u32);
        let mut ops = Vec::new();
        body(&mut BlockBuilder::new(&mut regs, &mut ops, insn));
        let terminator = match index {
            0 => Terminator::Branch { cond: COND, taken: edge(1), fallthrough: edge(2) },
            1 | 2 => Terminator::Jump(edge(3)),
            _ => Terminator::Branch { cond: COND, taken: edge(9), fallthrough: edge(9) },
        };
        Block { first: insn, insns: vec![insn], ops, costs: Vec::new(), terminator }
    });
    let blocks = blocks.collect();
    let base = |name: &str, region| Input {
        name: name.into(),
        width: 32,
        min: 0x1_0000,
        max: 0x1fff_0000,
        kind: InputKind::BaseAddress(RegionId(region)),
    };
    let region = |name: &str, kind, base| Region { name: name.into(), kind, base, content: None };
    let program = Program {
        name: "diamond".into(),
        insns: vec![Instruction { text: "?".into(), source: None }; 4],
        regs,
        inputs: vec![base("packet", 0), base("stack", 1)],
        regions: vec![
            region("packet", RegionKind::Packet, PACKET),
            region("stack", RegionKind::Stack, STACK),
        ],
        prologue: vec![input(PACKET, 0), input(STACK, 1)],
        blocks,
        ..Program::default()
    };
    program.validate().expect("valid");
    program
}

/// Executes a program that [`diamond`] returns, and merges its two paths at the last block. Returns
/// the executor, and the branch condition of the last block.
fn execute(program: Program) -> (Executor, TermId) {
    let (mut executor, start) = Executor::new(Rc::new(program)).expect("starts");
    let mut top = start;
    let condition =
        executor.run_block(NodeId(0), BlockId(0), &mut top).expect("runs").expect("branches");
    let mut arriving = Vec::new();
    for (index, holds) in [(0u32, true), (1, false)] {
        let mut side = executor.assume(&top, condition, holds).expect("both ways are possible");
        side = executor
            .merge(NodeId(index + 1), BlockId(index + 1), vec![(ArcId(index), side)])
            .expect("merges");
        executor.run_block(NodeId(index + 1), BlockId(index + 1), &mut side).expect("runs");
        arriving.push((ArcId(index + 2), side));
    }
    let mut end = executor.merge(NodeId(3), BlockId(3), arriving).expect("merges");
    let condition =
        executor.run_block(NodeId(3), BlockId(3), &mut end).expect("runs").expect("branches");
    (executor, condition)
}

/// Returns the path through block 1 (`side` 0) or block 2 (`side` 1).
fn path(side: u32) -> Vec<(ArcId, NodeId)> {
    vec![(ArcId(side), NodeId(side + 1)), (ArcId(side + 2), NodeId(3))]
}

fn resolved(executor: &mut Executor, term: TermId, side: u32) -> TermId {
    let mut resolver = Resolver::new();
    resolver.follow(&path(side));
    resolver.resolve(executor, term).expect("resolves")
}

/// Returns the term for "the packet's initial byte at `offset` is 7".
fn packet_byte_is_seven(executor: &mut Executor, offset: u64) -> TermId {
    let packet = executor.array(RegionId(0));
    let pool = &mut executor.pool;
    let offset = pool.constant(32, offset);
    let (byte, seven) = (pool.select(packet, offset), pool.constant(8, 7));
    pool.eq(byte, seven)
}

fn branch_on_first_byte(build: &mut BlockBuilder<'_>) {
    let byte = build.load(PACKET, 1);
    let zero = build.binary(BinaryOp::Eq, byte, Operand::constant(8, 0));
    build.copy(COND, zero);
}

fn compare_result(build: &mut BlockBuilder<'_>) {
    let seven = build.binary(BinaryOp::Eq, RESULT, Operand::constant(8, 7));
    build.copy(COND, seven);
}

#[test]
fn a_register_that_differs_becomes_a_phi_and_resolves_per_path() {
    let (mut executor, condition) = execute(diamond([
        branch_on_first_byte,
        |b| b.copy(RESULT, Operand::constant(8, 7)),
        |b| b.copy(RESULT, Operand::constant(8, 8)),
        compare_result,
    ]));
    assert!(executor.pool.as_const(condition).is_none(), "both values arrive");
    let mut resolver = Resolver::new();
    for (side, expected) in [(0, 1), (1, 0), (0, 1)] {
        resolver.follow(&path(side));
        let term = resolver.resolve(&mut executor, condition).expect("resolves");
        assert_eq!(executor.pool.as_const(term), Some(expected));
        let reasons: Vec<ArcId> = resolver.reasons(&executor, condition).into_iter().collect();
        assert_eq!(reasons, [ArcId(side + 2)], "the arc into the merge decides");
    }
}

#[test]
fn a_register_that_agrees_needs_no_phi() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            b.copy(RESULT, Operand::constant(8, 7));
        },
        |_| {},
        |_| {},
        compare_result,
    ]));
    assert_eq!(executor.pool.as_const(condition), Some(1));
    let mut resolver = Resolver::new();
    resolver.follow(&path(0));
    assert_eq!(resolver.resolve(&mut executor, condition), Ok(condition));
    assert!(resolver.reasons(&executor, condition).is_empty());
}

#[test]
fn stores_on_one_side_are_seen_on_that_side_only() {
    let load_second_byte: Body = |b| {
        let address = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 1));
        let value = b.load(address, 1);
        b.copy(RESULT, value);
        compare_result(b);
    };
    let (mut executor, condition) = execute(diamond([
        branch_on_first_byte,
        |b| {
            let address = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 1));
            b.store(address, Operand::constant(8, 7));
        },
        |b| b.store(STACK, Operand::constant(8, 9)),
        load_second_byte,
    ]));
    assert_eq!(resolved(&mut executor, condition, 0), executor.pool.bool(true));
    assert_eq!(resolved(&mut executor, condition, 1), packet_byte_is_seven(&mut executor, 0x1));
}

#[test]
fn a_spilled_pointer_stays_a_pointer() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            let pointer = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 300));
            b.store(STACK, pointer);
        },
        |_| {},
        |_| {},
        |b| {
            let pointer = b.load(STACK, 4);
            let value = b.load(pointer, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    assert_eq!(resolved(&mut executor, condition, 0), packet_byte_is_seven(&mut executor, 0x12c));
}

#[test]
fn pointers_into_one_region_merge_by_their_offsets() {
    let (mut executor, condition) = execute(diamond([
        branch_on_first_byte,
        |b| {
            let pointer = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 10));
            b.copy(POINTER, pointer);
        },
        |b| {
            let pointer = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 20));
            b.copy(POINTER, pointer);
        },
        |b| {
            let value = b.load(POINTER, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    assert_eq!(resolved(&mut executor, condition, 0), packet_byte_is_seven(&mut executor, 0xa));
    assert_eq!(resolved(&mut executor, condition, 1), packet_byte_is_seven(&mut executor, 0x14));
}

#[test]
fn pointers_into_different_regions_resolve_on_the_path() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            b.store(STACK, Operand::constant(8, 7));
        },
        |b| b.copy(POINTER, STACK),
        |b| b.copy(POINTER, PACKET),
        |b| {
            let value = b.load(POINTER, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    assert_eq!(resolved(&mut executor, condition, 0), executor.pool.bool(true));
    assert_eq!(resolved(&mut executor, condition, 1), packet_byte_is_seven(&mut executor, 0x0));
}

#[test]
fn a_store_through_a_pointer_or_null_leaves_other_regions_alone() {
    let (executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            b.store(STACK, Operand::constant(8, 7));
        },
        |b| b.copy(POINTER, Operand::constant(32, 0)),
        |b| b.copy(POINTER, PACKET),
        |b| {
            let field = b.binary(BinaryOp::Add, POINTER, Operand::constant(32, 4));
            b.store(field, Operand::constant(8, 9));
            let value = b.load(STACK, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    assert_eq!(executor.pool.as_const(condition), Some(1), "known on all paths together");
}

#[test]
fn stores_beside_what_is_read_are_no_reason() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            b.store(STACK, Operand::constant(8, 7));
        },
        |b| {
            let beside = b.binary(BinaryOp::Add, STACK, Operand::constant(32, 64));
            b.store(beside, Operand::constant(8, 1));
        },
        |b| b.store(PACKET, Operand::constant(8, 2)),
        |b| {
            let value = b.load(STACK, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    assert_eq!(executor.pool.as_const(condition), Some(1));
    assert_eq!(resolved(&mut executor, condition, 0), executor.pool.bool(true));
}

#[test]
fn a_load_depends_on_the_arc_that_its_store_arrives_over() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            b.copy(POINTER, STACK);
        },
        |b| b.store(STACK, Operand::constant(8, 7)),
        |b| b.copy(POINTER, PACKET),
        |b| {
            let value = b.load(POINTER, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    let mut resolver = Resolver::new();
    resolver.follow(&path(0));
    let term = resolver.resolve(&mut executor, condition).expect("resolves");
    assert_eq!(executor.pool.as_const(term), Some(1));
    let reasons: Vec<ArcId> = resolver.reasons(&executor, condition).into_iter().collect();
    assert_eq!(reasons, [ArcId(2)]);
}

#[test]
fn a_load_through_no_pointer_is_refused_on_the_path() {
    let (mut executor, condition) = execute(diamond([
        branch_on_first_byte,
        |b| b.copy(POINTER, Operand::constant(32, 5)),
        |b| b.copy(POINTER, PACKET),
        |b| {
            let value = b.load(POINTER, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    let mut resolver = Resolver::new();
    resolver.follow(&path(0));
    let result = resolver.resolve(&mut executor, condition);
    assert_eq!(result, Err(ExecError::UnknownRegion { insn: 3 }));
}

#[test]
fn a_store_at_a_symbolic_offset_may_hit() {
    let (mut executor, condition) = execute(diamond([
        |b| {
            branch_on_first_byte(b);
            let byte = b.load(PACKET, 1);
            let offset = b.zero_extend(byte, 32);
            let address = b.binary(BinaryOp::Add, PACKET, offset);
            b.store(address, Operand::constant(8, 7));
        },
        |_| {},
        |_| {},
        |b| {
            let address = b.binary(BinaryOp::Add, PACKET, Operand::constant(32, 40));
            let value = b.load(address, 1);
            b.copy(RESULT, value);
            compare_result(b);
        },
    ]));
    let found = resolved(&mut executor, condition, 0);
    let otherwise = packet_byte_is_seven(&mut executor, 40);
    let packet = executor.array(RegionId(0));
    let pool = &mut executor.pool;
    let (zero, forty) = (pool.constant(32, 0), pool.constant(8, 40));
    let first = pool.select(packet, zero);
    let hit = pool.eq(first, forty);
    assert_eq!(found, pool.or(hit, otherwise), "the first byte says where, or it was 7 before");
}

#[test]
fn an_undefined_register_is_named() {
    let program = diamond([
        |b| {
            let zero = b.binary(BinaryOp::Eq, VALUE, Operand::constant(8, 0));
            b.copy(COND, zero);
        },
        |_| {},
        |_| {},
        compare_result,
    ]);
    let (mut executor, mut state) = Executor::new(Rc::new(program)).expect("starts");
    let result = executor.run_block(NodeId(0), BlockId(0), &mut state);
    assert_eq!(result, Err(ExecError::Undefined { insn: 0, register: "value".into() }));
}
