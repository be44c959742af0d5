//! Lifts loads of constants and operations on bytes of a register: `immed`, `immed_w1`, `ld_field`
//! and `ld_field_w_clr`.

use slowpath_ir::{BinaryOp, Emit, Operand as Value};

use super::core_state::CoreState;
use crate::{Operand, Shift, ShiftAmount, ShiftKind};

impl CoreState {
    /// Lifts `immed`, which loads a constant. `value` is the constant after its rotation.
    pub(super) fn immed(&mut self, dst: Operand, value: u32, both_banks: bool) {
        self.write_result(dst, Value::constant(32, value.into()), both_banks);
    }

    /// Lifts `immed_w1[dst, value]`, which replaces the upper half word of a register.
    pub(super) fn immed_w1(&mut self, dst: Operand, value: u16, both_banks: bool) {
        let old = self.old_value(dst);
        let low = self.emit.extract(old, 0, 16);
        let high = Value::constant(16, value.into());
        let result = self.emit.binary(BinaryOp::Concat, high, low);
        self.write_result(dst, result, both_banks);
    }

    /// Lifts `ld_field[dst, mask, src, shift]`, which replaces the bytes of a register that the
    /// mask selects. If `clear` is true, lifts `ld_field_w_clr`, which also clears the other bytes.
    pub(super) fn ld_field(
        &mut self,
        dst: Operand,
        mask: u8,
        (src, shift): (Operand, Option<Shift>),
        clear: bool,
        both_banks: bool,
    ) {
        let old = if clear { Value::constant(32, 0) } else { self.old_value(dst) };
        let new = self.source(src);
        let mut result: Option<Value> = None;
        let mut byte = 0;
        while byte < 4 {
            let replaced = mask >> byte & 1 == 1;
            let run = (byte..4).take_while(|&b| (mask >> b & 1 == 1) == replaced).count() as u8;
            let (lo, width) = (8 * byte, 8 * run);
            byte += run;
            if let Some(below) = result.filter(|_| clear && !replaced && byte == 4) {
                result = Some(self.emit.zero_extend(below, 32));
                break;
            }
            let piece = if replaced {
                self.shifted_bits(new, shift, lo, width)
            } else {
                self.emit.extract(old, lo, width)
            };
            result = Some(match result {
                None => piece,
                Some(below) => self.emit.binary(BinaryOp::Concat, piece, below),
            });
        }
        let result = result.unwrap_or(old);
        self.set_logical_flags(result);
        self.write_result(dst, result, both_banks);
    }

    /// Returns `width` bits from bit `lo` on of a shifted word, extracted from the unshifted word
    /// where possible.
    fn shifted_bits(&mut self, word: Value, shift: Option<Shift>, lo: u8, width: u8) -> Value {
        let from = match shift {
            None => Some(lo),
            Some(Shift { amount: ShiftAmount::Indirect, .. }) => None,
            Some(Shift { kind, amount: ShiftAmount::Bits(bits) }) => match kind {
                ShiftKind::Right => Some(lo + bits),
                ShiftKind::Left => lo.checked_sub(bits),
                ShiftKind::RotateRight => Some((lo + bits) % 32),
                ShiftKind::RotateLeft => Some((lo + 32 - bits) % 32),
            },
        };
        match from {
            Some(from) if from + width <= 32 => self.emit.extract(word, from, width),
            _ => {
                let shifted = self.shifted(word, shift);
                self.emit.extract(shifted, lo, width)
            }
        }
    }
}
