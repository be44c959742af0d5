//! Lifts `alu` instructions, and computes the condition codes of sums and differences.
//!
//! The compiler does 64-bit arithmetic in two instructions, the second with carry. If both are in
//! one block, a single 64-bit comparison gives the carry and the sign of the whole result.

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::core_state::{ArchReg, CoreState, LowHalf};
use crate::{AluOp, Operand};

impl CoreState {
    /// Lifts `alu[dst, a, op, b]`, which computes a result from two operands.
    pub(super) fn alu(
        &mut self,
        dst: Operand,
        a: Operand,
        op: AluOp,
        b: Operand,
        both_banks: bool,
    ) {
        let first = self.source(a);
        let second = self.source(b);
        let result = match op {
            AluOp::Add => self.sum(first, second),
            AluOp::Add16 | AluOp::Add8 => {
                let low = self.emit.extract(second, 0, 16);
                let low = self.emit.zero_extend(low, 32);
                self.sum(first, low)
            }
            AluOp::AddCarry => self.sum_with_carry(first, second),
            AluOp::Sub => self.difference(first, second),
            AluOp::SubReversed => self.difference(second, first),
            AluOp::SubCarry => self.difference_with_carry(first, second),
            _ => {
                let result = self.logical(first, op, second);
                self.set_logical_flags(result);
                if op == AluOp::Xor {
                    // Equivalent to a comparison of the result with zero, but a smaller term.
                    self.set_binary(ArchReg::Zero, BinaryOp::Eq, first, second);
                }
                if a == Operand::None {
                    let what = "the amount of indirect shifts (its first operand)";
                    self.undefine(ArchReg::ShiftAmount, what);
                } else {
                    self.set(ArchReg::ShiftAmount, first);
                }
                result
            }
        };
        self.write_result(dst, result, both_banks);
    }

    /// Emits `a op b` for bitwise operators.
    pub(super) fn logical(&mut self, a: Value, op: AluOp, b: Value) -> Value {
        match op {
            AluOp::NotB => self.emit.not(b),
            AluOp::And => self.emit.binary(BinaryOp::And, a, b),
            AluOp::NotAnd => {
                let a = self.emit.not(a);
                self.emit.binary(BinaryOp::And, a, b)
            }
            AluOp::AndNot => {
                let b = self.emit.not(b);
                self.emit.binary(BinaryOp::And, a, b)
            }
            AluOp::Or => self.emit.binary(BinaryOp::Or, a, b),
            AluOp::Xor => self.emit.binary(BinaryOp::Xor, a, b),
            // The operator B. Arithmetic operators do not reach this function.
            _ => b,
        }
    }

    fn sum(&mut self, a: Value, b: Value) -> Value {
        let first = self.emit.capture(a);
        let result = self.emit.binary(BinaryOp::Add, a, b);
        let carry = self.emit.binary(BinaryOp::Ult, result, a);
        self.set_sum_flags(a, b, result, carry);
        self.low_half = Some(LowHalf::Sum(first, result));
        result
    }

    fn sum_with_carry(&mut self, a: Value, b: Value) -> Value {
        let carry_in = self.get(ArchReg::Carry);
        let partial = self.emit.binary(BinaryOp::Add, a, b);
        let carry_word = self.emit.zero_extend(carry_in, 32);
        let result = self.emit.binary(BinaryOp::Add, partial, carry_word);
        let carry = if let Some(LowHalf::Sum(low_first, low_result)) = self.low_half {
            let wide_result = self.emit.binary(BinaryOp::Concat, result, low_result);
            let wide_first = self.emit.binary(BinaryOp::Concat, a, low_first);
            self.emit.binary(BinaryOp::Ult, wide_result, wide_first)
        } else {
            let [a, b, carry] = [a, b, carry_in].map(|value| self.emit.zero_extend(value, 33));
            let wide = self.emit.binary(BinaryOp::Add, a, b);
            let wide = self.emit.binary(BinaryOp::Add, wide, carry);
            self.emit.extract(wide, 32, 1)
        };
        self.set_sum_flags(a, b, result, carry);
        self.low_half = None;
        result
    }

    /// Emits the condition codes of the sum `a + b`. The sum overflows if its sign differs from
    /// that of both summands.
    fn set_sum_flags(&mut self, a: Value, b: Value, result: Value, carry: Value) {
        let from_a = self.emit.binary(BinaryOp::Xor, a, result);
        let from_b = self.emit.binary(BinaryOp::Xor, b, result);
        let differs = self.emit.binary(BinaryOp::And, from_a, from_b);
        let overflow = self.emit.extract(differs, 31, 1);
        self.set_zero_negative(result);
        self.set(ArchReg::Carry, carry);
        self.set(ArchReg::Overflow, overflow);
        let negative = self.get(ArchReg::Negative);
        self.set_binary(ArchReg::Less, BinaryOp::Xor, negative, overflow);
    }

    fn difference(&mut self, a: Value, b: Value) -> Value {
        let low_half = LowHalf::Difference(self.emit.capture(a), self.emit.capture(b));
        let result = self.emit.binary(BinaryOp::Sub, a, b);
        self.set_difference_flags(a, b, result);
        self.low_half = Some(low_half);
        result
    }

    fn difference_with_carry(&mut self, a: Value, b: Value) -> Value {
        let no_borrow = self.get(ArchReg::Carry);
        let borrow = self.emit.not(no_borrow);
        let partial = self.emit.binary(BinaryOp::Sub, a, b);
        let borrow_word = self.emit.zero_extend(borrow, 32);
        let result = self.emit.binary(BinaryOp::Sub, partial, borrow_word);
        // a - b - borrow < 0 exactly when a:x < b:y, for any x and y with x < y exactly when borrow
        // = 1.
        let (low_a, low_b) = match self.low_half {
            Some(LowHalf::Difference(low_a, low_b)) => (low_a, low_b),
            _ => (Value::constant(1, 0), borrow),
        };
        let wide_a = self.emit.binary(BinaryOp::Concat, a, low_a);
        let wide_b = self.emit.binary(BinaryOp::Concat, b, low_b);
        self.set_difference_flags(wide_a, wide_b, result);
        self.low_half = None;
        result
    }

    /// Emits the condition codes of the subtraction `a - b`. `result` is the high word of the
    /// difference, from which Z and N follow; C and V follow from `a` and `b`.
    fn set_difference_flags(&mut self, a: Value, b: Value, result: Value) {
        let borrow = self.emit.binary(BinaryOp::Ult, a, b);
        let carry = self.emit.not(borrow);
        self.set_binary(ArchReg::Less, BinaryOp::Slt, a, b);
        self.set_zero_negative(result);
        self.set(ArchReg::Carry, carry);
        let (negative, less) = (self.get(ArchReg::Negative), self.get(ArchReg::Less));
        self.set_binary(ArchReg::Overflow, BinaryOp::Xor, negative, less);
    }
}
