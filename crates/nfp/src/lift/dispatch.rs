//! Selects the lifting function for each kind of instruction, and translates the conditions of
//! branches.

use slowpath_ir::{Emit, Operand as Value, Reg};

use super::core_state::{ArchReg, CoreState};
use super::error::LiftCause;
use crate::{BranchCondition, Insn, Operand};

impl CoreState {
    /// Lifts an instruction other than a branch.
    pub(super) fn insn(&mut self, insn: &Insn) -> Result<(), LiftCause> {
        if self.take_csr_value(insn)? {
            return Ok(());
        }
        match *insn {
            Insn::Alu { dst, a, op, b, both_banks } => self.alu(dst, a, op, b, both_banks),
            Insn::AluShf { dst, a, op, b, shift, both_banks } => {
                self.alu_shf(dst, (a, op, b), shift, both_banks)
            }
            Insn::Asr { dst, b, amount, both_banks } => self.asr(dst, b, amount, both_banks),
            Insn::DblShf { dst, a, b, amount, both_banks } => {
                self.dbl_shf(dst, (a, b), amount, both_banks)
            }
            Insn::Immed { dst, value, shift, both_banks } => {
                self.immed(dst, value.rotate_left(shift.into()), both_banks);
            }
            Insn::ImmedW1 { dst, value, both_banks } => self.immed_w1(dst, value, both_banks),
            Insn::LdField { dst, mask, src, shift, clear, both_banks } => {
                self.ld_field(dst, mask, (src, shift), clear, both_banks);
            }
            Insn::LocalCsrWr { index, src } => self.local_csr_wr(index, src),
            Insn::LocalCsrRd { csr } => return self.local_csr_rd(csr),
            Insn::Mem { command, xfer, address, count, indirect, signal, defer } => {
                let count = if indirect { None } else { Some(count) };
                return self.mem(command, (xfer, count), address, signal.is_some(), defer);
            }
            Insn::MulStep { a, b, step, both_banks } => {
                return self.mul_step(a, b, step, both_banks);
            }
            Insn::Nop | Insn::Branch { .. } | Insn::BranchBit { .. } | Insn::Return { .. } => {}
        }
        Ok(())
    }

    /// Returns a 1-bit register that is true if the bit with number `bit` of `src` has the value
    /// `set`.
    pub(super) fn bit_condition(&mut self, src: Operand, bit: u8, set: bool) -> Reg {
        let word = self.source(src);
        let value = self.emit.extract(word, bit, 1);
        let value = if set { value } else { self.emit.not(value) };
        self.captured(value)
    }

    /// Copies a value to a register that later writes do not change.
    pub(super) fn captured(&mut self, value: Value) -> Reg {
        let dst = self.emit.temp(self.emit.width(value));
        self.emit.copy(dst, value);
        dst
    }

    /// Returns a 1-bit register that is true if the branch is taken. Returns `None` for a branch
    /// that is always taken.
    pub(super) fn condition(&mut self, condition: BranchCondition) -> Option<Reg> {
        use ArchReg::{Carry, Less, Negative, Overflow, Zero};
        let (flag, expected, or_zero) = match condition {
            BranchCondition::Always => return None,
            BranchCondition::CarryClear => (Carry, false, false),
            BranchCondition::CarrySet => (Carry, true, false),
            BranchCondition::Equal => (Zero, true, false),
            BranchCondition::NotEqual => (Zero, false, false),
            BranchCondition::Minus => (Negative, true, false),
            BranchCondition::Plus => (Negative, false, false),
            BranchCondition::OverflowSet => (Overflow, true, false),
            BranchCondition::OverflowClear => (Overflow, false, false),
            BranchCondition::Less => (Less, true, false),
            BranchCondition::GreaterOrEqual => (Less, false, false),
            BranchCondition::LessOrEqual => (Less, true, true),
            BranchCondition::Greater => (Less, false, true),
        };
        Some(self.flag_condition(flag, expected, or_zero))
    }
}
