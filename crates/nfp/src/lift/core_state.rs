//! The registers of a processing core as registers of the IR; reading and writing operands.

use std::collections::BTreeMap;

use slowpath_ir::{BinaryOp, Emit, InputId, Op, Operand as Value, Reg};

use super::emit::Emitter;
use super::error::LiftCause;
use super::in_flight::{Deferred, Multiplication, PendingBase};
use crate::{Bank, Insn, Operand};

/// A register that outlives a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArchReg {
    /// A general-purpose register.
    Gpr(Bank, u8),
    /// A transfer register of the read file.
    XferIn(u8),
    /// A transfer register of the write file.
    XferOut(u8),
    /// `ActLMAddrN`.
    LocalBase(u8),
    /// Condition code Z.
    Zero,
    /// Condition code N.
    Negative,
    /// Condition code C; after a subtraction: no borrow.
    Carry,
    /// Condition code V.
    Overflow,
    /// N differs from V: the sign of the exact result. Kept for its own sake because it is a
    /// single comparison after a subtraction.
    Less,
    /// The previous ALU result.
    Previous,
    /// The first operand of the previous logical ALU operation; its low bits say how far indirect
    /// shifts go.
    ShiftAmount,
}

impl ArchReg {
    pub fn width(self) -> u8 {
        use ArchReg::{Carry, Less, Negative, Overflow, Zero};
        if matches!(self, Zero | Negative | Carry | Overflow | Less) { 1 } else { 32 }
    }

    pub fn name(self) -> String {
        match self {
            ArchReg::Gpr(Bank::A, number) => format!("gprA_{number}"),
            ArchReg::Gpr(Bank::B, number) => format!("gprB_{number}"),
            ArchReg::XferIn(number) => format!("$xfer_{number} (read)"),
            ArchReg::XferOut(number) => format!("$xfer_{number} (write)"),
            ArchReg::LocalBase(index) => format!("ActLMAddr{index}"),
            ArchReg::Zero => "Z".into(),
            ArchReg::Negative => "N".into(),
            ArchReg::Carry => "C".into(),
            ArchReg::Overflow => "V".into(),
            ArchReg::Less => "N^V".into(),
            ArchReg::Previous => "previous ALU result".into(),
            ArchReg::ShiftAmount => "indirect shift amount".into(),
        }
    }
}

/// A value that an instruction leaves undefined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undefined {
    /// What it is, in words.
    pub what: &'static str,
    /// Its width in bits.
    pub width: u8,
}

/// The low halves of a 64-bit operation whose carry is in C.
#[derive(Clone, Copy, Debug)]
pub(super) enum LowHalf {
    /// Minuend and subtrahend.
    Difference(Value, Value),
    /// First summand and sum.
    Sum(Value, Value),
}

/// A core, as far as lifting has to know it.
#[derive(Debug)]
pub(super) struct CoreState {
    /// Where operations go.
    pub emit: Emitter,
    /// The registers that occur.
    pub regs: BTreeMap<ArchReg, Reg>,
    /// Values that are marked undefined.
    pub undefined: Vec<Undefined>,
    /// How many inputs come before those that mark undefined values.
    fixed_inputs: usize,
    /// The operation whose carry is in C, if it is in this block.
    pub low_half: Option<LowHalf>,
    /// The multiplication under way in this block.
    pub multiplication: Option<Multiplication>,
    /// Local-memory bases on their way.
    pub pending: Vec<PendingBase>,
    /// The current instruction.
    pub number: usize,
    /// Whether the next instruction takes the value of a control register.
    pub csr_value_due: bool,
    /// The memory command whose delay slots are running.
    pub deferred: Option<Deferred>,
}

impl CoreState {
    pub fn new(fixed_inputs: usize) -> Self {
        CoreState {
            emit: Emitter::new(),
            regs: BTreeMap::new(),
            undefined: Vec::new(),
            fixed_inputs,
            low_half: None,
            multiplication: None,
            pending: Vec::new(),
            number: 0,
            csr_value_due: false,
            deferred: None,
        }
    }

    pub fn begin_block(&mut self) {
        self.emit.begin_block();
        self.low_half = None;
        self.multiplication = None;
        self.csr_value_due = false;
        self.deferred = None;
    }

    pub fn begin_insn(&mut self, number: usize) {
        self.number = number;
        self.emit.begin_insn(number);
        self.step_pending();
    }

    pub fn end_insn(&mut self, insn: &Insn) {
        if matches!(insn, Insn::Mem { signal: Some(_), defer: 0, .. }) {
            self.hasten_pending();
        }
        self.step_deferred();
    }

    /// Checks that nothing is left undone at the end of a block.
    pub fn check_block_end(&mut self) -> Result<(), LiftCause> {
        if let Some(deferred) = self.deferred.take() {
            return Err(LiftCause::MemoryInDelaySlot { owner: deferred.number() });
        }
        match std::mem::take(&mut self.csr_value_due) {
            true => Err(LiftCause::ValueNotTaken),
            false => Ok(()),
        }
    }

    /// The register of the IR for a register of the core.
    pub fn reg(&mut self, arch: ArchReg) -> Reg {
        let emit = &mut self.emit;
        *self.regs.entry(arch).or_insert_with(|| emit.named(arch.name(), arch.width()))
    }

    /// The current value of a register.
    pub fn get(&mut self, arch: ArchReg) -> Value {
        Value::Reg(self.reg(arch))
    }

    /// Sets a register.
    pub fn set(&mut self, arch: ArchReg, value: Value) {
        let dst = self.reg(arch);
        self.emit.copy(dst, value);
    }

    /// Sets a register to the result of an operation.
    pub fn set_binary(&mut self, arch: ArchReg, op: BinaryOp, a: Value, b: Value) {
        let dst = self.reg(arch);
        self.emit.push(Op::Binary { op, dst, a, b });
    }

    /// Marks a register undefined.
    pub fn undefine(&mut self, arch: ArchReg, what: &'static str) {
        let dst = self.reg(arch);
        let input = InputId::from(self.fixed_inputs + self.undefined.len());
        self.undefined.push(Undefined { what, width: arch.width() });
        self.emit.push(Op::Input { dst, input });
    }

    /// The value of a source operand; zero for `--`, which stands only where it is ignored.
    pub fn source(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::None => Value::constant(32, 0),
            Operand::Immediate(value) => Value::constant(32, value.into()),
            Operand::Gpr(bank, number) => self.get(ArchReg::Gpr(bank, number)),
            Operand::Xfer(number) => self.get(ArchReg::XferIn(number)),
            Operand::Local { index, access } => {
                let value = self.local_word(index, access);
                self.advance_local_base(index, access);
                value
            }
        }
    }

    /// The value that a destination had before, for instructions that keep part of it.
    pub fn old_value(&mut self, dst: Operand) -> Value {
        match dst {
            Operand::Local { index, access } => self.local_word(index, access),
            _ => self.source(dst),
        }
    }

    /// Delivers an ALU result: to the destination and as previous ALU result.
    pub fn deliver(&mut self, dst: Operand, result: Value, both: bool) {
        match dst {
            // The parser accepts no constant here.
            Operand::None | Operand::Immediate(_) => {}
            Operand::Gpr(_, number) if both => {
                self.set(ArchReg::Gpr(Bank::A, number), result);
                self.set(ArchReg::Gpr(Bank::B, number), result);
            }
            Operand::Gpr(bank, number) => self.set(ArchReg::Gpr(bank, number), result),
            Operand::Xfer(number) => self.set(ArchReg::XferOut(number), result),
            Operand::Local { index, access } => {
                self.store_local_word(index, access, result);
                self.advance_local_base(index, access);
            }
        }
        self.set(ArchReg::Previous, result);
    }

    /// Sets Z and N from a result.
    pub fn set_zero_negative(&mut self, result: Value) {
        let zero = Value::constant(32, 0);
        self.set_binary(ArchReg::Zero, BinaryOp::Eq, result, zero);
        let sign = self.emit.extract(result, 31, 1);
        self.set(ArchReg::Negative, sign);
    }

    /// Sets the condition codes of a logical operation or shift: C and V are clear.
    pub fn set_logical_flags(&mut self, result: Value) {
        self.set_zero_negative(result);
        let sign = self.get(ArchReg::Negative);
        self.set(ArchReg::Less, sign);
        self.set(ArchReg::Carry, Value::constant(1, 0));
        self.set(ArchReg::Overflow, Value::constant(1, 0));
        self.low_half = None;
    }

    /// A register that is set when `flag` (or Z, with `or_zero`) has the value `expected`.
    pub fn flag_condition(&mut self, flag: ArchReg, expected: bool, or_zero: bool) -> Reg {
        let mut value = self.get(flag);
        if or_zero {
            let zero = self.get(ArchReg::Zero);
            value = self.emit.binary(BinaryOp::Or, value, zero);
        }
        // Delay slots may write condition codes: the branch has seen the old ones.
        let value = if expected { self.emit.capture(value) } else { self.emit.not(value) };
        match value {
            Value::Reg(reg) => reg,
            Value::Const { .. } => self.reg(flag),
        }
    }
}
