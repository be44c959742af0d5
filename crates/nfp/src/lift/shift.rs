//! Lifts shifts: `alu_shf`, `asr` and `dbl_shf`.

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::core_state::{ArchReg, CoreState};
use crate::{AluOp, Operand, Shift, ShiftAmount, ShiftKind};

impl CoreState {
    /// Lifts `alu_shf[dst, a, op, b, shift]`, which shifts `b`, then applies the operator.
    pub(super) fn alu_shf(
        &mut self,
        dst: Operand,
        (a, op, b): (Operand, AluOp, Operand),
        shift: Option<Shift>,
        both_banks: bool,
    ) {
        let first = self.source(a);
        let second = self.source(b);
        let second = self.shifted(second, shift);
        let result = self.logical(first, op, second);
        self.set_logical_flags(result);
        // It is not documented whether a shift's first operand sets the amount of the next indirect
        // shift.
        self.undefine(ArchReg::ShiftAmount, "the amount of indirect shifts");
        self.write_result(dst, result, both_banks);
    }

    /// Lifts `asr[dst, b, >>n]`, which shifts right and fills the upper bits with the sign of the
    /// previous ALU result.
    pub(super) fn asr(&mut self, dst: Operand, b: Operand, amount: ShiftAmount, both_banks: bool) {
        let low = self.source(b);
        let previous = self.get(ArchReg::Previous);
        let sign = self.emit.extract(previous, 31, 1);
        let high = self.emit.sign_extend(sign, 32);
        self.shift_pair(dst, high, low, amount, both_banks);
    }

    /// Lifts `dbl_shf[dst, a, b, >>n]`, which shifts the 64-bit value a:b right and returns its low
    /// word.
    pub(super) fn dbl_shf(
        &mut self,
        dst: Operand,
        (a, b): (Operand, Operand),
        amount: ShiftAmount,
        both_banks: bool,
    ) {
        let high = self.source(a);
        let low = self.source(b);
        self.shift_pair(dst, high, low, amount, both_banks);
    }

    /// Shifts the 64-bit value high:low to the right, and writes its low word to the destination.
    fn shift_pair(
        &mut self,
        dst: Operand,
        high: Value,
        low: Value,
        amount: ShiftAmount,
        both_banks: bool,
    ) {
        let pair = self.emit.binary(BinaryOp::Concat, high, low);
        let result = match amount {
            ShiftAmount::Bits(bits) => self.emit.extract(pair, bits, 32),
            ShiftAmount::Indirect => {
                let amount = self.indirect_amount(64);
                let shifted = self.emit.binary(BinaryOp::Lshr, pair, amount);
                self.emit.extract(shifted, 0, 32)
            }
        };
        self.set_logical_flags(result);
        self.write_result(dst, result, both_banks);
    }

    /// Returns a word after an optional shift.
    pub(super) fn shifted(&mut self, value: Value, shift: Option<Shift>) -> Value {
        let Some(Shift { kind, amount }) = shift else { return value };
        let bits = match amount {
            ShiftAmount::Bits(0) => return value,
            ShiftAmount::Bits(bits) => bits,
            ShiftAmount::Indirect => {
                let amount = self.indirect_amount(32);
                // Rotations by an indirect amount do not exist.
                let left = matches!(kind, ShiftKind::Left | ShiftKind::RotateLeft);
                let op = if left { BinaryOp::Shl } else { BinaryOp::Lshr };
                return self.emit.binary(op, value, amount);
            }
        };
        let amount = Value::constant(32, bits.into());
        match kind {
            ShiftKind::Left => self.emit.binary(BinaryOp::Shl, value, amount),
            ShiftKind::Right => self.emit.binary(BinaryOp::Lshr, value, amount),
            ShiftKind::RotateLeft => self.rotated_right(value, 32 - bits),
            ShiftKind::RotateRight => self.rotated_right(value, bits),
        }
    }

    fn rotated_right(&mut self, value: Value, bits: u8) -> Value {
        let high = self.emit.extract(value, 0, bits);
        let low = self.emit.extract(value, bits, 32 - bits);
        self.emit.binary(BinaryOp::Concat, high, low)
    }

    fn indirect_amount(&mut self, width: u8) -> Value {
        let operand = self.get(ArchReg::ShiftAmount);
        let low = self.emit.extract(operand, 0, 5);
        self.emit.zero_extend(low, width)
    }
}
