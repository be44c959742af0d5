//! Test programs with one block in a 64-bit address space: a packet, a hash map and a table with
//! known content. An element of the hash map has 16 bytes. Byte 0 is nonzero if the element is
//! absent; the value begins at byte 8.

// Each test file uses only a part of this module.

use slowpath_exec::{Executor, NodeId, Resolver};
use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, Destination, Draw, Edge, Emit, Input, InputId,
    InputKind, InsnIdx, Instruction, Op, Operand, OriginOp, Program, Reg, RegInfo, Region,
    RegionId, RegionKind, Terminator,
};
use slowpath_smt::TermId;
use std::rc::Rc;

pub const PACKET: Reg = Reg(0);
pub const HASH: Reg = Reg(1);
pub const TABLE: Reg = Reg(2);
pub const COND: Reg = Reg(3);
/// General registers, 64 bits each.
pub const VALUES: [Reg; 4] = [Reg(4), Reg(5), Reg(6), Reg(7)];

pub const PACKET_REGION: RegionId = RegionId(0);
pub const HASH_REGION: RegionId = RegionId(1);
/// Content of the table.
pub const CONTENT: [u8; 6] = [1, 1, 2, 3, 5, 8];

/// Node of the unrolled program at which tests execute the only block.
pub const POINT: NodeId = NodeId(7);

pub fn k(value: u64) -> Operand {
    Operand::constant(64, value)
}

/// Returns a program with one block, which runs `body` and branches on [`COND`]. The general
/// registers are zero at the start.
pub fn program(body: impl FnOnce(&mut BlockBuilder<'_>)) -> Program {
    let reg = |name: &str, width| RegInfo { name: name.into(), width };
    let mut regs = vec![reg("packet", 64), reg("hash", 64), reg("table", 64), reg("cond", 1)];
    regs.extend(VALUES.map(|value| reg(&format!("v{}", value.0), 64)));
    let insn = InsnIdx(0);
    let mut prologue = Vec::new();
    for (base, input) in [PACKET, HASH, TABLE].into_iter().zip(0..) {
        prologue.push(OriginOp { op: Op::Input { dst: base, input: InputId(input) }, insn });
    }
    prologue.extend(VALUES.map(|dst| OriginOp { op: Op::Copy { dst, src: k(0) }, insn }));
    let mut ops = Vec::new();
    let mut build = BlockBuilder::new(&mut regs, &mut ops, insn);
    build.copy(COND, Operand::constant(1, 0));
    body(&mut build);
    let edge = Edge { target: Destination::Exit(0), costs: Vec::new() };
    let terminator = Terminator::Branch { cond: COND, taken: edge.clone(), fallthrough: edge };
    let base = |name: &str, region| Input {
        name: name.into(),
        width: 64,
        min: 0x1_0000,
        max: 0x7fff_ffff,
        kind: InputKind::BaseAddress(RegionId(region)),
    };
    let region =
        |name: &str, kind, base, content| Region { name: name.into(), kind, base, content };
    let program = Program {
        name: "straight".into(),
        insns: vec![Instruction { text: "?".into(), source: None }],
        regs,
        inputs: vec![base("packet", 0), base("hash", 1), base("table", 2)],
        regions: vec![
            region("packet", RegionKind::Packet, PACKET, None),
            region("hash", RegionKind::Map, HASH, None),
            region("table", RegionKind::Map, TABLE, Some(CONTENT.to_vec())),
        ],
        prologue,
        blocks: vec![Block { first: insn, insns: vec![insn], ops, costs: Vec::new(), terminator }],
        draws: vec![Draw::default()],
        ..Program::default()
    };
    program.validate().expect("valid");
    program
}

/// Executes the only block of a program. Returns the executor, and the value of the branch
/// condition at the end of the block as a term.
pub fn execute(program: &Program) -> (Executor, TermId) {
    let (mut executor, mut state) = Executor::new(Rc::new(program.clone())).expect("starts");
    let condition = executor.run_block(POINT, BlockId(0), &mut state);
    let condition = condition.expect("runs").expect("branches");
    let condition = Resolver::new().resolve(&mut executor, condition).expect("resolves");
    (executor, condition)
}

/// Returns the address of the byte at offset `place` in the map element whose key consists of `a`
/// and `b`.
pub fn element(
    build: &mut BlockBuilder<'_>,
    a: impl Into<Operand>,
    b: impl Into<Operand>,
    place: u64,
) -> Operand {
    let number = build.binary(BinaryOp::Intern, a, b);
    let offset = build.binary(BinaryOp::Concat, number, Operand::constant(4, place));
    let offset = build.zero_extend(offset, 64);
    build.binary(BinaryOp::Add, HASH, offset)
}

/// Returns the address of the value for a key, or null if the element is marked as absent.
pub fn look_up(build: &mut BlockBuilder<'_>, key: impl Into<Operand>) -> Operand {
    let at = element(build, key, k(0), 0);
    let mark = build.load(at, 1);
    let present = build.binary(BinaryOp::Eq, mark, Operand::constant(8, 0));
    let value = build.binary(BinaryOp::Add, at, k(8));
    build.select(present, value, k(0))
}

/// Reads 1 to 8 bytes of the packet as a 64-bit value.
pub fn packet(build: &mut BlockBuilder<'_>, offset: u64, bytes: u8) -> Operand {
    let address = build.binary(BinaryOp::Add, PACKET, k(offset));
    let read = build.load(address, bytes);
    build.zero_extend(read, 64)
}
