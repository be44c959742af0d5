//! Emits a division by a constant as a multiplication by its reciprocal (`wrp_div_imm` of the Linux
//! NFP driver).

use super::assembler::{Assembler, Dst, IMM_A, IMM_B, IMM_BOTH, a, imm};
use super::multiply;
use crate::codegen::reciprocal::{Reciprocal, chosen, chosen_exponent};
use crate::{AluOp, ShiftAmount, ShiftKind};

/// Emits code that divides the low word of a register pair by a constant. The high word must be
/// zero, and stays zero. The divisor must not be one for which the driver generates wrong code
/// (`reciprocal::is_wrong`).
pub(super) fn divide(asm: &mut Assembler, number: u8, divisor: u32) {
    let (dst, word) = (Dst::Both(number), a(number));
    if divisor > 1 << 31 {
        // The quotient is one if the word is at least the divisor, and zero otherwise.
        let divisor = asm.operand(divisor, IMM_B);
        asm.alu(Dst::None, word, AluOp::Sub, divisor);
        asm.constant(IMM_A, 0);
        asm.alu(dst, IMM_A, AluOp::AddCarry, imm(0));
        return;
    }
    let exponent = chosen_exponent(divisor);
    let (Reciprocal { factor, shift, wide, .. }, halvings) = chosen(divisor);
    let factor = asm.operand(factor, IMM_B);
    let right = |asm: &mut Assembler, amount: u8| {
        let amount = ShiftAmount::Bits(amount);
        asm.shift(dst, crate::Operand::None, AluOp::B, word, ShiftKind::Right, amount);
    };
    if divisor == 1 << exponent {
        right(asm, exponent);
    } else if wide {
        multiply::words(asm, Some(IMM_BOTH), Dst::None, word, factor);
        asm.alu(dst, word, AluOp::Sub, IMM_B);
        right(asm, 1);
        asm.alu(dst, word, AluOp::Add, IMM_B);
        right(asm, shift.wrapping_sub(1));
    } else {
        if halvings > 0 {
            right(asm, halvings);
        }
        multiply::words(asm, Some(dst), Dst::None, word, factor);
        right(asm, shift);
    }
}
