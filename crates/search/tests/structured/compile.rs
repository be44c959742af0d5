//! Compiles the statements of randomly generated programs to the intermediate representation.

use super::elements::TABLE;
use super::{Cond, HANDLES, NESTING, POINTERS, Stmt, VALUES};
use slowpath_ir::{
    BinaryOp, Block, BlockBuilder, BlockId, CostClassId, CostEvent, Destination, Draw, Edge, Emit,
    Input, InputId, InputKind, InsnIdx, Instruction, Op, Operand, OriginOp, Program, Reg, RegInfo,
    Region, RegionId, RegionKind, Terminator,
};

/// Range of packet lengths, and access to the length, for which a randomly generated program is
/// compiled.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Minimum and maximum packet length, in bytes.
    pub packets: (u32, u32),
    /// True if the program can read the packet length.
    pub has_length: bool,
}

pub(super) struct Registers {
    pub(super) values: Vec<Reg>,
    pub(super) handles: Vec<Reg>,
    pointers: Vec<Reg>,
    counters: Vec<Reg>,
    packet: Reg,
    stack: Reg,
    map: Reg,
    pub(super) hash: Reg,
    pub(super) table: Reg,
    length: Reg,
}

struct Loop {
    header: usize,
    exit: usize,
    times: u8,
}

pub(super) struct Compiler {
    registers: Registers,
    regs: Vec<RegInfo>,
    blocks: Vec<Option<Block>>,
    /// Number of the basic block under construction.
    current: usize,
    ops: Vec<OriginOp>,
    costs: Vec<CostEvent>,
    loops: Vec<Loop>,
}

const CLASSES: [&str; 5] = ["plain", "marks", "sensitive", "spaced", "far"];

/// Compiles statements to a program. Each basic block has one instruction, with the same index as
/// the block.
pub fn compile(statements: &[Stmt], shape: Shape) -> Program {
    let mut regs: Vec<RegInfo> = Vec::new();
    let mut named = |name: String, width| {
        regs.push(RegInfo { name, width });
        Reg::from(regs.len() - 1)
    };
    let registers = Registers {
        values: (0..VALUES).map(|i| named(format!("v{i}"), 16)).collect(),
        pointers: (0..POINTERS).map(|i| named(format!("p{i}"), 32)).collect(),
        handles: (0..HANDLES).map(|i| named(format!("h{i}"), 64)).collect(),
        counters: (0..NESTING).map(|i| named(format!("c{i}"), 8)).collect(),
        packet: named("packet".into(), 32),
        stack: named("stack".into(), 32),
        map: named("map".into(), 40),
        hash: named("hash".into(), 64),
        table: named("table".into(), 32),
        length: named("length".into(), 14),
    };
    let prologue = prologue(&registers, &mut regs, shape);
    let mut compiler = Compiler {
        registers,
        regs,
        blocks: vec![None],
        current: 0,
        ops: Vec::new(),
        costs: Vec::new(),
        loops: Vec::new(),
    };
    compiler.list(statements);
    compiler.finish(None, Destination::Exit(0), 0);
    let Compiler { registers, regs, blocks, .. } = compiler;
    let input =
        |name: &str, width, min, max, kind| Input { name: name.into(), width, min, max, kind };
    let base = |name: &str, region| {
        input(name, 32, 0x1_0000, 0x3fff_0000, InputKind::BaseAddress(RegionId(region)))
    };
    let region = |name: &str, kind, base| Region { name: name.into(), kind, base, content: None };
    let (least, most) = (shape.packets.0.into(), shape.packets.1.into());
    let program = Program {
        name: "structured".into(),
        insns: vec![Instruction { text: "?".into(), source: None }; blocks.len()],
        regs,
        inputs: vec![
            base("packet", 0),
            input("length", 14, least, most, InputKind::PacketLength),
            base("stack", 1),
            base("map", 2),
            input("hash", 64, 0x1_0000, 0x7fff_ffff, InputKind::BaseAddress(RegionId(3))),
            base("table", 4),
        ],
        regions: vec![
            region("packet", RegionKind::Packet, registers.packet),
            region("stack", RegionKind::Stack, registers.stack),
            region("map", RegionKind::Map, registers.map),
            region("hash", RegionKind::Map, registers.hash),
            Region {
                content: Some(TABLE.to_vec()),
                ..region("table", RegionKind::Map, registers.table)
            },
        ],
        cost_classes: CLASSES.iter().map(|class| (*class).to_owned()).collect(),
        prologue,
        blocks: blocks.into_iter().map(|block| block.expect("every block is written")).collect(),
        packet_length: shape.has_length.then_some(InputId(1)),
        draws: vec![Draw::default()],
        ..Program::default()
    };
    program.validate().expect("the generator makes valid programs");
    program
}

/// Returns the operations that run before the first statement. They load values from the packet,
/// set pointers to the packet and the stack, and store the pointers in their stack slots.
fn prologue(registers: &Registers, regs: &mut Vec<RegInfo>, shape: Shape) -> Vec<OriginOp> {
    let mut ops = Vec::new();
    let mut build = BlockBuilder::new(regs, &mut ops, InsnIdx(0));
    build.push(Op::Input { dst: registers.packet, input: InputId(0) });
    build.push(Op::Input { dst: registers.stack, input: InputId(2) });
    if shape.has_length {
        build.push(Op::Input { dst: registers.length, input: InputId(1) });
    } else {
        build.copy(registers.length, Operand::constant(14, shape.packets.0.into()));
    }
    // Addresses in the map are wider than the register that holds the base, as on the device.
    let base = build.input(InputId(3), 32);
    let base = build.binary(BinaryOp::Concat, base, Operand::constant(8, 0));
    build.copy(registers.map, base);
    build.push(Op::Input { dst: registers.hash, input: InputId(4) });
    build.push(Op::Input { dst: registers.table, input: InputId(5) });
    for &handle in &registers.handles {
        build.copy(handle, Operand::constant(64, 0));
    }
    for &counter in &registers.counters {
        build.copy(counter, Operand::constant(8, 0));
    }
    for (index, &value) in registers.values.iter().enumerate() {
        let offset = Operand::constant(32, 2 * index as u64);
        let address = build.binary(BinaryOp::Add, registers.packet, offset);
        let read = build.load(address, 2);
        build.copy(value, read);
    }
    for (index, &pointer) in registers.pointers.iter().enumerate() {
        let base = if index == 0 { registers.packet } else { registers.stack };
        build.copy(pointer, base);
        let slot = slot(&mut build, registers, index as u8);
        build.store(slot, pointer);
    }
    ops
}

/// Returns the address of the stack slot in which a pointer is saved. The stores of random programs
/// never reach this slot.
fn slot(build: &mut BlockBuilder<'_>, registers: &Registers, index: u8) -> Operand {
    let offset = Operand::constant(32, 64 + 4 * u64::from(index));
    build.binary(BinaryOp::Add, registers.stack, offset)
}

/// Returns the low `bits` bits of a value, zero-extended to `width`.
fn low_bits(build: &mut BlockBuilder<'_>, value: Reg, bits: u8, width: u8) -> Operand {
    let low = build.extract(value, 0, bits);
    build.zero_extend(low, width)
}

impl Compiler {
    pub(super) fn fresh(&mut self) -> usize {
        self.blocks.push(None);
        self.blocks.len() - 1
    }

    pub(super) fn build(&mut self) -> (BlockBuilder<'_>, &Registers) {
        let insn = InsnIdx(self.current as u32);
        (BlockBuilder::new(&mut self.regs, &mut self.ops, insn), &self.registers)
    }

    /// Ends the current basic block and begins the block `next`. Without `cond`, the old block
    /// jumps to `target`; otherwise it branches to `target` or `next`.
    pub(super) fn finish(&mut self, cond: Option<Reg>, target: Destination, next: usize) {
        let insn = InsnIdx(self.current as u32);
        let event = |class: usize| CostEvent { insn, class: CostClassId::from(class) };
        let taken = Edge { target, costs: vec![event(self.current % 3)] };
        let terminator = match cond {
            None => Terminator::Jump(taken),
            Some(cond) => {
                let target = Destination::Block(BlockId::from(next));
                let fallthrough = Edge { target, costs: vec![event(0)] };
                Terminator::Branch { cond, taken, fallthrough }
            }
        };
        self.blocks[self.current] = Some(Block {
            first: insn,
            insns: vec![insn],
            ops: std::mem::take(&mut self.ops),
            costs: std::mem::take(&mut self.costs),
            terminator,
        });
        self.current = next;
    }

    fn branch(&mut self, cond: &Cond, to: Destination) {
        let cond = self.cond(cond);
        let next = self.fresh();
        self.finish(Some(cond), to, next);
    }

    fn jump(&mut self, to: usize, next: usize) {
        self.finish(None, Destination::Block(BlockId::from(to)), next);
    }

    fn list(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn cond(&mut self, cond: &Cond) -> Reg {
        let (mut build, registers) = self.build();
        let result = match *cond {
            Cond::Constant { op, a, constant, byte } => {
                let width = if byte { 8 } else { 16 };
                let a = build.extract(registers.values[a], 0, width);
                build.binary(op, a, Operand::constant(width, constant.into()))
            }
            Cond::Values { op, a, b } => build.binary(op, registers.values[a], registers.values[b]),
            Cond::Shorter { length } => {
                let length = Operand::constant(14, length.into());
                build.binary(BinaryOp::Ult, registers.length, length)
            }
            Cond::ShorterThanSum { base, a } => {
                let low = low_bits(&mut build, registers.values[a], 2, 32);
                let end = build.binary(BinaryOp::Add, low, Operand::constant(32, base.into()));
                let end = build.binary(BinaryOp::Add, registers.packet, end);
                let length = build.zero_extend(registers.length, 32);
                let have = build.binary(BinaryOp::Add, registers.packet, length);
                build.binary(BinaryOp::Ult, have, end)
            }
        };
        let temp = build.temp(1);
        build.copy(temp, result);
        temp
    }

    /// Adds 1 to the counter of the loop `inner`, and jumps back to its header unless the maximum
    /// is reached. Code that follows belongs to the block `next`.
    fn again(&mut self, inner: usize, next: usize) {
        let Loop { header, exit, times } = self.loops[inner];
        let (mut build, registers) = self.build();
        let counter = registers.counters[inner];
        let counted = build.binary(BinaryOp::Add, counter, Operand::constant(8, 1));
        build.copy(counter, counted);
        let more = build.binary(BinaryOp::Ult, counter, Operand::constant(8, times.into()));
        let temp = build.temp(1);
        build.copy(temp, more);
        self.finish(Some(temp), Destination::Block(BlockId::from(header)), exit);
        self.current = next;
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::If { cond, then, otherwise } => {
                let (taken, join) = (self.fresh(), self.fresh());
                self.branch(cond, Destination::Block(BlockId::from(taken)));
                self.list(otherwise);
                self.jump(join, taken);
                self.list(then);
                self.jump(join, join);
            }
            Stmt::Loop { times, body } => {
                // An empty block, for example the entry, may itself be the header.
                let header = match self.ops.is_empty() && self.costs.is_empty() {
                    true if self.loops.iter().all(|outer| outer.header != self.current) => {
                        self.current
                    }
                    _ => {
                        let header = self.fresh();
                        self.jump(header, header);
                        header
                    }
                };
                let exit = self.fresh();
                self.loops.push(Loop { header, exit, times: *times });
                self.list(body);
                let inner = self.loops.len() - 1;
                self.again(inner, exit);
                self.loops.pop();
                for depth in inner..NESTING {
                    let (mut build, registers) = self.build();
                    let counter = registers.counters[depth];
                    build.copy(counter, Operand::constant(8, 0));
                }
            }
            Stmt::Break { cond, loops } => {
                let exit = self.loops[self.loops.len() - loops].exit;
                self.branch(cond, Destination::Block(BlockId::from(exit)));
            }
            Stmt::Continue { cond } => {
                let latch = self.fresh();
                self.branch(cond, Destination::Block(BlockId::from(latch)));
                let next = std::mem::replace(&mut self.current, latch);
                self.again(self.loops.len() - 1, next);
            }
            Stmt::Leave { cond } => {
                let exit = Destination::Exit(self.current as u32 + 1);
                self.branch(cond, exit);
            }
            Stmt::Work { class } => {
                let insn = InsnIdx(self.current as u32);
                self.costs.push(CostEvent { insn, class: CostClassId::from(*class) });
            }
            Stmt::Element(element) => self.element(element),
            simple => self.simple(simple),
        }
    }

    fn simple(&mut self, statement: &Stmt) {
        let (mut build, registers) = self.build();
        let value = |index: usize| registers.values[index];
        let pointer_reg = |index: usize| registers.pointers[index];
        let packet_at = |build: &mut BlockBuilder<'_>, offset: u8| {
            build.binary(BinaryOp::Add, registers.packet, Operand::constant(32, offset.into()))
        };
        let map_at = |build: &mut BlockBuilder<'_>, a: usize| {
            let low = low_bits(build, value(a), 2, 40);
            build.binary(BinaryOp::Add, registers.map, low)
        };
        match *statement {
            Stmt::Read { dst, offset, bytes } => {
                let address = packet_at(&mut build, offset);
                let read = build.load(address, bytes);
                let read = build.zero_extend(read, 16);
                build.copy(value(dst), read);
            }
            Stmt::Write { src, offset, bytes } => {
                let address = packet_at(&mut build, offset);
                let low = build.extract(value(src), 0, 8 * bytes);
                build.store(address, low);
            }
            Stmt::Point { pointer, stack, a } => {
                let base = if stack { registers.stack } else { registers.packet };
                let offset = low_bits(&mut build, value(a), 3, 32);
                let address = build.binary(BinaryOp::Add, base, offset);
                build.copy(pointer_reg(pointer), address);
            }
            Stmt::Advance { pointer, by } => {
                let by = Operand::constant(32, by.into());
                let address = build.binary(BinaryOp::Add, pointer_reg(pointer), by);
                build.copy(pointer_reg(pointer), address);
            }
            Stmt::Leap { pointer, a } => {
                let low = build.extract(value(a), 0, 2);
                let high = build.binary(BinaryOp::Concat, low, Operand::constant(24, 0));
                let offset = build.zero_extend(high, 32);
                let address = build.binary(BinaryOp::Add, pointer_reg(pointer), offset);
                build.copy(pointer_reg(pointer), address);
            }
            Stmt::ReadVia { dst, pointer, bytes } => {
                let read = build.load(pointer_reg(pointer), bytes);
                let read = build.zero_extend(read, 16);
                build.copy(value(dst), read);
            }
            Stmt::WriteVia { src, pointer, bytes } => {
                let low = build.extract(value(src), 0, 8 * bytes);
                build.store(pointer_reg(pointer), low);
            }
            Stmt::Spill { pointer, slot: index } => {
                let address = slot(&mut build, registers, index);
                build.store(address, pointer_reg(pointer));
            }
            Stmt::Fill { pointer, slot: index } => {
                let address = slot(&mut build, registers, index);
                let read = build.load(address, 4);
                build.copy(pointer_reg(pointer), read);
            }
            Stmt::MapRead { dst, a } => {
                let address = map_at(&mut build, a);
                let read = build.load(address, 1);
                let read = build.zero_extend(read, 16);
                build.copy(value(dst), read);
            }
            Stmt::MapWrite { src, a } => {
                let address = map_at(&mut build, a);
                build.store(address, value(src));
            }
            Stmt::Compute { op, dst, a, b } => {
                let result = build.binary(op, value(a), value(b));
                build.copy(value(dst), result);
            }
            Stmt::WithConstant { op, dst, a, constant } => {
                let constant = Operand::constant(16, constant.into());
                let result = build.binary(op, value(a), constant);
                build.copy(value(dst), result);
            }
            Stmt::Element(_)
            | Stmt::If { .. }
            | Stmt::Loop { .. }
            | Stmt::Break { .. }
            | Stmt::Continue { .. }
            | Stmt::Leave { .. }
            | Stmt::Work { .. } => {}
        }
    }
}
