//! Maps the registers of a core to registers of the IR, and reads and writes the operands of
//! instructions.

use std::collections::BTreeMap;

use slowpath_ir::{BinaryOp, Emit, InputId, Op, Operand as Value, Reg};

use super::delayed_effects::{Deferred, Multiplication, PendingBase};
use super::emit::Emitter;
use super::error::LiftCause;
use crate::{Bank, Insn, Operand};

/// A register of the core whose value can be read in a later block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArchReg {
    /// A general-purpose register.
    Gpr(Bank, u8),
    /// A transfer register of the read file.
    XferIn(u8),
    /// A transfer register of the write file.
    XferOut(u8),
    /// `ActLMAddrN`, a base register of local memory.
    LocalBase(u8),
    /// Condition code Z: the result is zero.
    Zero,
    /// Condition code N: the result is negative.
    Negative,
    /// Condition code C: the carry of a sum; after a subtraction: no borrow.
    Carry,
    /// Condition code V: signed overflow.
    Overflow,
    /// True if N differs from V, which is the sign of the exact result. It is a register of its own
    /// to keep terms small: after a subtraction, its value is a single comparison.
    Less,
    /// The result of the previous ALU operation.
    Previous,
    /// The first operand of the previous logical ALU operation. Its low bits are the amount of
    /// indirect shifts.
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

/// A value that is undefined after an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undefined {
    /// Description of the value, in words.
    pub what: &'static str,
    /// Width of the value in bits.
    pub width: u8,
}

/// The first of the two instructions of a 64-bit addition or subtraction. Its carry is in condition
/// code C.
#[derive(Clone, Copy, Debug)]
pub(super) enum LowHalf {
    /// First instruction of a subtraction, with the low words of minuend and subtrahend.
    Difference(Value, Value),
    /// First instruction of an addition, with the low words of the first summand and of the sum.
    Sum(Value, Value),
}

/// The state of a core while a listing is lifted.
#[derive(Debug)]
pub(super) struct CoreState {
    pub emit: Emitter,
    /// The IR registers that stand for core registers, for each core register that the program
    /// uses.
    pub regs: BTreeMap<ArchReg, Reg>,
    pub undefined: Vec<Undefined>,
    /// Number of inputs that every lifted program has. Inputs with larger numbers stand for
    /// undefined values.
    fixed_inputs: usize,
    /// The operation whose carry is in condition code C, if it is in the current block.
    pub low_half: Option<LowHalf>,
    /// A multiplication in this block whose last `mul_step` has not been lifted yet.
    pub multiplication: Option<Multiplication>,
    /// Writes of base registers of local memory that have not taken effect yet.
    pub pending: Vec<PendingBase>,
    /// Number, in the listing, of the instruction that is being lifted.
    pub number: usize,
    /// True if the next instruction receives the value of the control register that was read.
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
            self.expire_pending();
        }
        self.step_deferred();
    }

    /// Checks that no memory command and no read of a control register is unfinished at the end of
    /// a block.
    pub fn check_block_end(&mut self) -> Result<(), LiftCause> {
        if let Some(deferred) = self.deferred.take() {
            return Err(LiftCause::MemoryInDelaySlot { delay_slot_of: deferred.number() });
        }
        match std::mem::take(&mut self.csr_value_due) {
            true => Err(LiftCause::CsrValueUnused),
            false => Ok(()),
        }
    }

    /// Returns the IR register of a core register.
    pub fn reg(&mut self, arch: ArchReg) -> Reg {
        let emit = &mut self.emit;
        *self.regs.entry(arch).or_insert_with(|| emit.named(arch.name(), arch.width()))
    }

    /// Returns the current value of a register.
    pub fn get(&mut self, arch: ArchReg) -> Value {
        Value::Reg(self.reg(arch))
    }

    pub fn set(&mut self, arch: ArchReg, value: Value) {
        let dst = self.reg(arch);
        self.emit.copy(dst, value);
    }

    /// Sets a register to the result of an operation.
    pub fn set_binary(&mut self, arch: ArchReg, op: BinaryOp, a: Value, b: Value) {
        let dst = self.reg(arch);
        self.emit.push(Op::Binary { op, dst, a, b });
    }

    /// Marks the value of a register as undefined. `what` describes the value.
    pub fn undefine(&mut self, arch: ArchReg, what: &'static str) {
        let dst = self.reg(arch);
        let input = InputId::from(self.fixed_inputs + self.undefined.len());
        self.undefined.push(Undefined { what, width: arch.width() });
        self.emit.push(Op::Input { dst, input });
    }

    /// Returns the value of a source operand. Returns zero for `--`, because instructions ignore
    /// this operand.
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

    /// Returns the value that a destination has before the instruction. Instructions that keep a
    /// part of the destination need it.
    pub fn old_value(&mut self, dst: Operand) -> Value {
        match dst {
            Operand::Local { index, access } => self.local_word(index, access),
            _ => self.source(dst),
        }
    }

    /// Writes an ALU result to its destination, and records it as the "previous ALU result" for
    /// later instructions.
    pub fn write_result(&mut self, dst: Operand, result: Value, both_banks: bool) {
        match dst {
            // The parser rejects constants as destinations.
            Operand::None | Operand::Immediate(_) => {}
            Operand::Gpr(_, number) if both_banks => {
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

    /// Sets the condition codes Z (zero) and N (negative) from a result.
    pub fn set_zero_negative(&mut self, result: Value) {
        let zero = Value::constant(32, 0);
        self.set_binary(ArchReg::Zero, BinaryOp::Eq, result, zero);
        let sign = self.emit.extract(result, 31, 1);
        self.set(ArchReg::Negative, sign);
    }

    /// Sets the condition codes after a logical operation or shift, which clear C and V.
    pub fn set_logical_flags(&mut self, result: Value) {
        self.set_zero_negative(result);
        let sign = self.get(ArchReg::Negative);
        self.set(ArchReg::Less, sign);
        self.set(ArchReg::Carry, Value::constant(1, 0));
        self.set(ArchReg::Overflow, Value::constant(1, 0));
        self.low_half = None;
    }

    /// Returns a 1-bit register that is true if `flag` has the value `expected`. If `or_zero` is
    /// true, tests the disjunction of `flag` and Z instead of `flag`.
    pub fn flag_condition(&mut self, flag: ArchReg, expected: bool, or_zero: bool) -> Reg {
        let mut value = self.get(flag);
        if or_zero {
            let zero = self.get(ArchReg::Zero);
            value = self.emit.binary(BinaryOp::Or, value, zero);
        }
        // Delay slots may write condition codes. The branch uses the earlier values.
        let value = if expected { self.emit.capture(value) } else { self.emit.not(value) };
        match value {
            Value::Reg(reg) => reg,
            Value::Const { .. } => self.reg(flag),
        }
    }
}
