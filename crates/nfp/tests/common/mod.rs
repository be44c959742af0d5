//! Runs lifted programs in the concrete interpreter, for tests that check the effects of
//! instructions.

use std::collections::BTreeMap;

use slowpath_ir::{
    BinaryOp, Destination, InputKind, Op, Operand, OriginOp, Program, Reg, Terminator,
};
use slowpath_nfp::{LiftError, LiftOptions, lift, parse};

pub const PACKET: u64 = 0x10_0000;
pub const STACK: u64 = 0x20_0000;
pub const CONTEXT: u64 = 0x30_0000;
/// Address of the map in units of 256 bytes.
pub const DRAM: u64 = 0x4000;
pub const DRAM_BYTES: u64 = DRAM << 8;
pub const LENGTH: u64 = 64;

/// Returns a listing of these instructions, one per line, with addresses and numbers added.
pub fn listing(body: &str) -> String {
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(n, line)| format!("{:4x}:\t.{n}  {line}\n", 8 * n)).collect()
}

pub fn program(body: &str) -> Result<Program, LiftError> {
    let listing = parse(&listing(body)).unwrap_or_else(|error| panic!("{error}\n{body}"));
    let program = lift(&listing, "test", &LiftOptions::default())?;
    program.validate().unwrap_or_else(|error| panic!("{error}\n{body}"));
    Ok(program)
}

/// Returns the message of the error with which lifting fails.
pub fn refusal(body: &str) -> String {
    program(body).expect_err("the program is refused").to_string()
}

/// The result of running a lifted program in the test interpreter.
#[derive(Debug, Default)]
pub struct Run {
    pub exit: u32,
    pub memory: BTreeMap<u64, u8>,
    pub blocks: Vec<u32>,
    /// Cost classes of the executed instructions, in the order of execution, each with the number
    /// of the instruction.
    pub costs: Vec<(u32, String)>,
}

impl Run {
    pub fn read(&self, address: u64, bytes: u64) -> u64 {
        let byte = |i| u64::from(self.memory.get(&(address + i)).copied().unwrap_or(0));
        (0..bytes).map(|i| byte(i) << (8 * i)).sum()
    }

    /// Returns the 32-bit word with index `word` on the stack.
    pub fn stack(&self, word: u64) -> u32 {
        self.read(STACK + 4 * word, 4) as u32
    }
}

/// Runs a program. `start` contains names of registers, such as `gprA_1` or `C`, with their initial
/// values.
pub fn run(body: &str, start: &[(&str, u32)]) -> Run {
    run_with_memory(body, start, &[])
}

/// Runs a program with initial values of registers and memory.
pub fn run_with_memory(body: &str, start: &[(&str, u32)], memory: &[(u64, &[u8])]) -> Run {
    let program = program(body).unwrap_or_else(|error| panic!("{error}\n{body}"));
    let mut machine = Machine {
        regs: vec![None; program.regs.len()],
        inputs: program.inputs.iter().map(|input| input_value(input, start)).collect(),
        run: Run::default(),
        program: &program,
    };
    for (address, bytes) in memory {
        for (offset, &byte) in bytes.iter().enumerate() {
            machine.run.memory.insert(address + offset as u64, byte);
        }
    }
    machine.execute();
    machine.run
}

fn input_value(input: &slowpath_ir::Input, start: &[(&str, u32)]) -> u64 {
    let value = match (input.kind, input.name.as_str()) {
        (InputKind::PacketLength, _) => LENGTH,
        (_, "address of packet") => PACKET,
        (_, "address of stack") => STACK,
        (_, "address of context") => CONTEXT,
        (_, "address of dram") => DRAM,
        (_, name) => {
            let found = start.iter().find(|(register, _)| *register == name);
            found.map_or(0, |&(_, value)| value.into())
        }
    };
    assert!((input.min..=input.max).contains(&value), "{} = {value:#x}", input.name);
    value
}

struct Machine<'a> {
    program: &'a Program,
    regs: Vec<Option<u64>>,
    inputs: Vec<u64>,
    run: Run,
}

impl Machine<'_> {
    fn execute(&mut self) {
        self.ops(&self.program.prologue);
        let mut id = self.program.entry;
        for _ in 0..10_000 {
            let block = self.program.block(id);
            self.run.blocks.push(block.first.0);
            self.ops(&block.ops);
            let edge = match &block.terminator {
                Terminator::Jump(edge) => edge,
                Terminator::Branch { cond, taken, fallthrough } => {
                    if self.value(Operand::Reg(*cond)) == 1 { taken } else { fallthrough }
                }
            };
            for event in block.costs.iter().chain(&edge.costs) {
                let class = self.program.cost_classes[event.class.index()].clone();
                self.run.costs.push((event.insn.0, class));
            }
            match edge.target {
                Destination::Block(next) => id = next,
                Destination::Exit(number) => {
                    self.run.exit = number;
                    return;
                }
                Destination::Never => panic!("a run of the card is impossible"),
            }
        }
        panic!("the program does not end");
    }

    fn ops(&mut self, ops: &[OriginOp]) {
        for origin in ops {
            self.op(&origin.op);
        }
    }

    fn width(&self, value: Operand) -> u32 {
        u32::from(match value {
            Operand::Reg(reg) => self.program.width(reg),
            Operand::Const { width, .. } => width,
        })
    }

    fn value(&self, value: Operand) -> u64 {
        match value {
            Operand::Reg(reg) => self.regs[reg.index()]
                .unwrap_or_else(|| panic!("{} is read before it is written", self.name(reg))),
            Operand::Const { value, .. } => value,
        }
    }

    fn signed(&self, value: Operand) -> i64 {
        let unused = 64 - self.width(value);
        (self.value(value) << unused) as i64 >> unused
    }

    fn name(&self, reg: Reg) -> &str {
        &self.program.regs[reg.index()].name
    }

    fn op(&mut self, op: &Op) {
        let result = match *op {
            Op::Copy { src, .. } | Op::ZeroExtend { src, .. } => self.value(src),
            Op::Not { src, .. } => !self.value(src),
            Op::SignExtend { src, .. } => self.signed(src) as u64,
            Op::Extract { src, lo, .. } => self.value(src) >> lo,
            Op::Select { cond, then, other, .. } => {
                self.value(if self.value(cond) == 1 { then } else { other })
            }
            Op::Input { input, .. } => self.inputs[input.index()],
            Op::Unknown { min, .. } => min,
            Op::Binary { op, a, b, .. } => self.binary(op, a, b),
            Op::Load { dst, addr } => {
                self.run.read(self.value(addr), u64::from(self.program.width(dst)) / 8)
            }
            Op::Store { addr, value } => {
                let (at, content) = (self.value(addr), self.value(value));
                for byte in 0..u64::from(self.width(value)) / 8 {
                    self.run.memory.insert(at + byte, (content >> (8 * byte)) as u8);
                }
                return;
            }
            Op::Clear { addr, bytes } => {
                let at = self.value(addr);
                for byte in 0..self.value(bytes) {
                    self.run.memory.insert(at + byte, 0);
                }
                return;
            }
            Op::Rely { .. } => return,
        };
        if let Some(dst) = op.dst() {
            let width = self.program.width(dst);
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            self.regs[dst.index()] = Some(result & mask);
        }
    }

    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> u64 {
        let (x, y) = (self.value(a), self.value(b));
        let shift = |f: fn(u64, u32) -> u64| if y < 64 { f(x, y as u32) } else { 0 };
        match op {
            BinaryOp::Add => x.wrapping_add(y),
            BinaryOp::Sub => x.wrapping_sub(y),
            BinaryOp::Mul => x.wrapping_mul(y),
            BinaryOp::And => x & y,
            BinaryOp::Or => x | y,
            BinaryOp::Xor => x ^ y,
            BinaryOp::Shl => shift(|x, y| x << y),
            BinaryOp::Lshr => shift(|x, y| x >> y),
            BinaryOp::Eq => u64::from(x == y),
            BinaryOp::Ult => u64::from(x < y),
            BinaryOp::Slt => u64::from(self.signed(a) < self.signed(b)),
            BinaryOp::Concat => x << self.width(b) | y,
            other => panic!("no listing needs {other:?}"),
        }
    }
}
