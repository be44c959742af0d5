//! Generates small random programs, and describes a small target device that gives their operations
//! costs.

// Each test file uses only some of these items.

use proptest::prelude::*;
use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, CostClassId, CostEvent, Destination as Goal, Edge,
    Emit, Input, InputId, InputKind, InsnIdx, Instruction, Op, Operand, OriginOp, Program, Reg,
    RegInfo, Region, RegionId, RegionKind, Terminator,
};

/// Minimum and maximum length of the packets that random programs receive, in bytes.
pub const PACKETS: (u32, u32) = (60, 68);
/// Number of general registers that random programs use, 8 bits each.
const REGISTERS: usize = 4;

/// Description of a target device on which the cost of an operation depends on the operations
/// before it, as on real devices.
pub const TARGET: &str = r#"
schema = 1
name = "test"
description = "two components and context-dependent prices"
[sources]
here = "made up"
[packet]
min_size_bytes = 60
max_size_bytes = 1500
source = "here"
[[component]]
name = "cores"
kind = "cores"
cores = 3
clock_hz = 1000
overhead_cycles = 7
source = "here"
[[component]]
name = "engine"
kind = "engine"
clock_hz = 1000
serves = ["far"]
source = "here"
[mark.cc]
description = "something"
source = "here"
[mark.mem]
description = "something"
set_at_start = true
source = "here"
[price.plain]
cores = { cycles = 1 }
source = "here"
[price.marks]
cores = { cycles = 2 }
sets = ["cc"]
source = "here"
[price.sensitive]
cores = { cycles = 2, just_after = { mark = "cc", cycles = 5 } }
source = "here"
[price.spaced]
cores = { cycles = 1, spacing = { mark = "mem", cycles = 6 } }
sets = ["mem"]
source = "here"
[price.far]
cores = { cycles = 2 }
engine = { cycles = 3 }
source = "here"
"#;

const CLASSES: [&str; 5] = ["plain", "marks", "sensitive", "spaced", "far"];

#[derive(Clone, Debug)]
pub enum OpSpec {
    Load { dst: usize, offset: u8 },
    LoadAt { dst: usize, index: usize },
    Store { src: usize, offset: u8 },
    StoreAt { src: usize, index: usize },
    Compute { op: BinaryOp, dst: usize, a: usize, b: usize },
    WithConstant { op: BinaryOp, dst: usize, a: usize, constant: u8 },
}

#[derive(Clone, Debug)]
pub enum EndSpec {
    Next,
    Compare {
        op: BinaryOp,
        a: usize,
        constant: u8,
        ahead: usize,
    },
    CompareTwo {
        op: BinaryOp,
        a: usize,
        b: usize,
        ahead: usize,
    },
    ShorterThan {
        length: u16,
        ahead: usize,
    },
    ShorterThanSum {
        base: u16,
        index: usize,
        ahead: usize,
    },
    /// A branch that repeats its block until a counter reaches the value `times`.
    Repeat {
        times: u8,
    },
    /// A branch that repeats its block while a register equals `constant`.
    RepeatWhile {
        a: usize,
        constant: u8,
    },
}

#[derive(Clone, Debug)]
pub struct BlockSpec {
    pub ops: Vec<OpSpec>,
    pub end: EndSpec,
    pub costs: Vec<usize>,
    pub edge_costs: [Vec<usize>; 2],
}

fn operator() -> impl Strategy<Value = BinaryOp> {
    prop_oneof![
        Just(BinaryOp::Add),
        Just(BinaryOp::Sub),
        Just(BinaryOp::And),
        Just(BinaryOp::Or),
        Just(BinaryOp::Xor),
        Just(BinaryOp::Lshr),
        Just(BinaryOp::Mul),
    ]
}

fn comparison() -> impl Strategy<Value = BinaryOp> {
    prop_oneof![Just(BinaryOp::Eq), Just(BinaryOp::Ult), Just(BinaryOp::Slt)]
}

fn op() -> impl Strategy<Value = OpSpec> {
    let reg = 0..REGISTERS;
    prop_oneof![
        3 => (reg.clone(), 0u8..4).prop_map(|(dst, offset)| OpSpec::Load { dst, offset }),
        1 => (reg.clone(), reg.clone()).prop_map(|(dst, index)| OpSpec::LoadAt { dst, index }),
        1 => (reg.clone(), 0u8..4).prop_map(|(src, offset)| OpSpec::Store { src, offset }),
        1 => (reg.clone(), reg.clone()).prop_map(|(src, index)| OpSpec::StoreAt { src, index }),
        2 => (operator(), reg.clone(), reg.clone(), reg.clone())
            .prop_map(|(op, dst, a, b)| OpSpec::Compute { op, dst, a, b }),
        3 => (operator(), reg.clone(), reg, 0u8..6)
            .prop_map(|(op, dst, a, constant)| OpSpec::WithConstant { op, dst, a, constant }),
    ]
}

fn end() -> impl Strategy<Value = EndSpec> {
    let reg = 0..REGISTERS;
    prop_oneof![
        1 => Just(EndSpec::Next),
        6 => (comparison(), reg.clone(), 0u8..5, 2usize..4)
            .prop_map(|(op, a, constant, ahead)| EndSpec::Compare { op, a, constant, ahead }),
        2 => (comparison(), reg.clone(), reg.clone(), 2usize..4)
            .prop_map(|(op, a, b, ahead)| EndSpec::CompareTwo { op, a, b, ahead }),
        2 => (60u16..70, 2usize..4)
            .prop_map(|(length, ahead)| EndSpec::ShorterThan { length, ahead }),
        1 => (58u16..66, reg, 2usize..4)
            .prop_map(|(base, index, ahead)| EndSpec::ShorterThanSum { base, index, ahead }),
        1 => (1u8..4).prop_map(|times| EndSpec::Repeat { times }),
    ]
}

pub fn specs(blocks: std::ops::Range<usize>) -> impl Strategy<Value = Vec<BlockSpec>> {
    let costs = || prop::collection::vec(0..CLASSES.len(), 0..3);
    let block = (prop::collection::vec(op(), 0..3), end(), costs(), [costs(), costs()])
        .prop_map(|(ops, end, costs, edge_costs)| BlockSpec { ops, end, costs, edge_costs });
    prop::collection::vec(block, blocks)
}

struct Registers {
    general: Vec<Reg>,
    counter: Reg,
    base: Reg,
    length: Reg,
}

/// Builds a program from descriptions of its blocks. Each block has one instruction, with the same
/// index as the block.
pub fn program(specs: &[BlockSpec]) -> Program {
    let mut regs: Vec<RegInfo> = Vec::new();
    let mut named = |name: &str, width| {
        regs.push(RegInfo { name: name.into(), width });
        Reg::from(regs.len() - 1)
    };
    let registers = Registers {
        general: (0..REGISTERS).map(|i| named(&format!("r{i}"), 8)).collect(),
        counter: named("counter", 8),
        base: named("base", 32),
        length: named("length", 14),
    };
    let insn = InsnIdx(0);
    let input = |dst, input| OriginOp { op: Op::Input { dst, input: InputId(input) }, insn };
    let mut prologue = vec![input(registers.base, 0), input(registers.length, 1)];
    let zero = Op::Copy { dst: registers.counter, src: Operand::constant(8, 0) };
    prologue.push(OriginOp { op: zero, insn });
    let mut build = BlockBuilder::new(&mut regs, &mut prologue, insn);
    for (index, &dst) in registers.general.iter().enumerate() {
        let offset = Operand::constant(32, index as u64);
        let address = build.binary(BinaryOp::Add, registers.base, offset);
        let value = build.load(address, 1);
        build.copy(dst, value);
    }
    let unknown =
        |name: &str, width, min, max, kind| Input { name: name.into(), width, min, max, kind };
    let blocks: Vec<Block> = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| block(index, spec, specs.len(), &registers, &mut regs))
        .collect();
    let program = Program {
        name: "random".into(),
        insns: vec![Instruction { text: "?".into(), source: None }; specs.len()],
        regs,
        inputs: vec![
            unknown("base", 32, 0x1_0000, 0x3fff_0000, InputKind::BaseAddress(RegionId(0))),
            unknown("length", 14, PACKETS.0.into(), PACKETS.1.into(), InputKind::PacketLength),
        ],
        regions: vec![Region {
            name: "packet".into(),
            kind: RegionKind::Packet,
            base: registers.base,
            content: None,
        }],
        cost_classes: CLASSES.iter().map(|class| (*class).to_owned()).collect(),
        prologue,
        blocks,
        packet_length: Some(InputId(1)),
        ..Program::default()
    };
    program.validate().expect("the generator makes valid programs");
    program
}

fn events(index: usize, classes: &[usize]) -> Vec<CostEvent> {
    let event =
        |&class: &usize| CostEvent { insn: InsnIdx(index as u32), class: CostClassId::from(class) };
    classes.iter().map(event).collect()
}

fn block(
    index: usize,
    spec: &BlockSpec,
    count: usize,
    registers: &Registers,
    regs: &mut Vec<RegInfo>,
) -> Block {
    let insn = InsnIdx(index as u32);
    let mut ops = Vec::new();
    let mut build = BlockBuilder::new(regs, &mut ops, insn);
    let pointer = |build: &mut BlockBuilder<'_>, index: usize| {
        let low = build.binary(BinaryOp::And, registers.general[index], Operand::constant(8, 3));
        let offset = build.zero_extend(low, 32);
        build.binary(BinaryOp::Add, registers.base, offset)
    };
    for op in &spec.ops {
        match *op {
            OpSpec::Load { dst, offset } => {
                let offset = Operand::constant(32, offset.into());
                let address = build.binary(BinaryOp::Add, registers.base, offset);
                let value = build.load(address, 1);
                build.copy(registers.general[dst], value);
            }
            OpSpec::LoadAt { dst, index } => {
                let address = pointer(&mut build, index);
                let value = build.load(address, 1);
                build.copy(registers.general[dst], value);
            }
            OpSpec::Store { src, offset } => {
                let offset = Operand::constant(32, offset.into());
                let address = build.binary(BinaryOp::Add, registers.base, offset);
                build.store(address, registers.general[src]);
            }
            OpSpec::StoreAt { src, index } => {
                let address = pointer(&mut build, index);
                build.store(address, registers.general[src]);
            }
            OpSpec::Compute { op, dst, a, b } => {
                let value = build.binary(op, registers.general[a], registers.general[b]);
                build.copy(registers.general[dst], value);
            }
            OpSpec::WithConstant { op, dst, a, constant } => {
                let constant = Operand::constant(8, constant.into());
                let value = build.binary(op, registers.general[a], constant);
                build.copy(registers.general[dst], value);
            }
        }
    }
    let edge = |to: usize, which: usize| Edge {
        target: if to < count { Goal::Block(BlockId::from(to)) } else { Goal::Exit(0) },
        costs: events(index, &spec.edge_costs[which]),
    };
    let next = edge(index + 1, 1);
    let (cond, taken) = match spec.end {
        EndSpec::Next => (None, next.clone()),
        EndSpec::Compare { op, a, constant, ahead } => {
            let constant = Operand::constant(8, constant.into());
            (Some(build.binary(op, registers.general[a], constant)), edge(index + ahead, 0))
        }
        EndSpec::CompareTwo { op, a, b, ahead } => {
            let cond = build.binary(op, registers.general[a], registers.general[b]);
            (Some(cond), edge(index + ahead, 0))
        }
        EndSpec::ShorterThan { length, ahead } => {
            let length = Operand::constant(14, length.into());
            (Some(build.binary(BinaryOp::Ult, registers.length, length)), edge(index + ahead, 0))
        }
        EndSpec::ShorterThanSum { base, index: reg, ahead } => {
            let low = build.binary(BinaryOp::And, registers.general[reg], Operand::constant(8, 3));
            let low = build.zero_extend(low, 32);
            let end = build.binary(BinaryOp::Add, low, Operand::constant(32, base.into()));
            let end = build.binary(BinaryOp::Add, registers.base, end);
            let length = build.zero_extend(registers.length, 32);
            let have = build.binary(BinaryOp::Add, registers.base, length);
            (Some(build.binary(BinaryOp::Ult, have, end)), edge(index + ahead, 0))
        }
        EndSpec::Repeat { times } => {
            let one = Operand::constant(8, 1);
            let counted = build.binary(BinaryOp::Add, registers.counter, one);
            build.copy(registers.counter, counted);
            let limit = Operand::constant(8, times.into());
            (Some(build.binary(BinaryOp::Ult, registers.counter, limit)), edge(index, 0))
        }
        EndSpec::RepeatWhile { a, constant } => {
            let constant = Operand::constant(8, constant.into());
            (Some(build.binary(BinaryOp::Eq, registers.general[a], constant)), edge(index, 0))
        }
    };
    let terminator = match cond {
        Some(Operand::Reg(cond)) => Terminator::Branch { cond, taken, fallthrough: next },
        _ => Terminator::Jump(next),
    };
    Block { first: insn, insns: vec![insn], ops, costs: events(index, &spec.costs), terminator }
}
