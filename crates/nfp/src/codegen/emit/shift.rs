//! Emits shifts of one or two words by a constant or a register. The code depends on the possible
//! range of the shift amount (`shl_reg64`, `shr_reg64`, `ashr_reg64` of the driver and their
//! callees).

use slowpath_bpf::insn::{AluOp as BpfOp, Register, Source, Width};

use super::assembler::{Assembler, Dst, IMM_A, IMM_BOTH, Label, a, b, imm};
use super::pair::{pair, zero_extend};
use crate::codegen::annotated::AnnotatedInsn;
use crate::{AluOp, BranchCondition, ShiftAmount, ShiftKind};

use ShiftAmount::Indirect;

/// Index of a bit in the shift amount, which is set if the amount is 32 to 63.
const WORD_BIT: u8 = 5;

/// Emits `dst <<= src`, `dst >>= src` or `dst s>>= src`.
pub(super) fn shift(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    width: Width,
    op: BpfOp,
    dst: Register,
    src: Source,
) {
    let number = pair(dst);
    let (least, most) = insn.bounds.src();
    match (src, width) {
        (Source::Imm(amount), _) => by_constant(asm, insn, width, op, number, amount as u8),
        (Source::Reg(_), _) if least == most => {
            by_constant(asm, insn, width, op, number, least as u8);
        }
        (Source::Reg(src), Width::W32) => {
            word_by_register(asm, op, number, pair(src));
            zero_extend(asm, insn, number);
        }
        (Source::Reg(src), Width::W64) => {
            let src = pair(src);
            if most < 32 {
                receiving_word_below_32(asm, op, number, src);
                other_word_below_32(asm, op, number, src);
            } else if least >= 32 {
                by_32_or_more(asm, op, number, src);
            } else {
                by_any_amount(asm, op, number, src);
            }
        }
    }
}

fn by_constant(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    width: Width,
    op: BpfOp,
    number: u8,
    amount: u8,
) {
    match (width, op) {
        (Width::W64, _) if amount == 0 => {}
        (Width::W64, BpfOp::Lsh) => left(asm, number, amount),
        (Width::W64, BpfOp::Rsh) => right(asm, number, amount),
        (Width::W64, _) => right_signed(asm, number, amount),
        (Width::W32, _) => {
            let bits = ShiftAmount::Bits(amount);
            match op {
                _ if amount == 0 => {}
                BpfOp::Lsh => asm.shifted(number, number, ShiftKind::Left, bits),
                BpfOp::Rsh => asm.shifted(number, number, ShiftKind::Right, bits),
                _ => {
                    asm.shift_by(a(number));
                    asm.arithmetic_shift(number, number, bits);
                }
            }
            zero_extend(asm, insn, number);
        }
    }
}

fn left(asm: &mut Assembler, low: u8, amount: u8) {
    let high = low + 1;
    if amount < 32 {
        asm.double_shift(high, high, low, ShiftAmount::Bits(32 - amount));
        asm.shifted(low, low, ShiftKind::Left, ShiftAmount::Bits(amount));
        return;
    }
    move_shifted(asm, high, low, ShiftKind::Left, amount - 32);
    asm.constant(Dst::Both(low), 0);
}

fn right(asm: &mut Assembler, low: u8, amount: u8) {
    let high = low + 1;
    if amount < 32 {
        asm.double_shift(low, high, low, ShiftAmount::Bits(amount));
        asm.shifted(high, high, ShiftKind::Right, ShiftAmount::Bits(amount));
        return;
    }
    move_shifted(asm, low, high, ShiftKind::Right, amount - 32);
    asm.constant(Dst::Both(high), 0);
}

fn move_shifted(asm: &mut Assembler, dst: u8, src: u8, kind: ShiftKind, amount: u8) {
    if amount == 0 {
        asm.mov_reg(dst, src);
    } else {
        asm.shifted(dst, src, kind, ShiftAmount::Bits(amount));
    }
}

/// Emits an arithmetic right shift of a register pair by a constant. `asr` shifts in the sign of
/// the previous ALU result, so the code first makes the high word this result.
fn right_signed(asm: &mut Assembler, low: u8, amount: u8) {
    let high = low + 1;
    let all = ShiftAmount::Bits(31);
    if amount < 32 {
        asm.double_shift(low, high, low, ShiftAmount::Bits(amount));
        asm.shift_by(a(high));
        asm.arithmetic_shift(high, high, ShiftAmount::Bits(amount));
    } else if amount == 32 {
        asm.mov_reg(low, high);
        asm.arithmetic_shift(high, high, all);
    } else {
        asm.shift_by(a(high));
        asm.arithmetic_shift(low, high, ShiftAmount::Bits(amount - 32));
        asm.arithmetic_shift(high, high, all);
    }
}

fn word_by_register(asm: &mut Assembler, op: BpfOp, number: u8, src: u8) {
    match op {
        BpfOp::Lsh => {
            asm.shift_by(a(src));
            asm.shifted(number, number, ShiftKind::Left, Indirect);
        }
        BpfOp::Rsh => {
            asm.shift_by(a(src));
            asm.shifted(number, number, ShiftKind::Right, Indirect);
        }
        _ => {
            // The previous ALU operation provides the amount (first operand) and the sign (result).
            asm.alu(Dst::None, a(src), AluOp::Or, b(number));
            asm.arithmetic_shift(number, number, Indirect);
        }
    }
}

/// Emits a shift by less than 32 bits for one word of a register pair: the word that receives bits
/// from the other word. This must come first, while the other word is unchanged.
fn receiving_word_below_32(asm: &mut Assembler, op: BpfOp, low: u8, src: u8) {
    let high = low + 1;
    if op == BpfOp::Lsh {
        asm.alu(IMM_BOTH, imm(32), AluOp::Sub, b(src));
        asm.shift_by(IMM_A);
        asm.double_shift(high, high, low, Indirect);
    } else {
        asm.shift_by(a(src));
        asm.double_shift(low, high, low, Indirect);
    }
}

/// Emits a shift by less than 32 bits for one word of a register pair: the word that gives bits to
/// the other word and receives zeros or copies of the sign.
fn other_word_below_32(asm: &mut Assembler, op: BpfOp, low: u8, src: u8) {
    let word = if op == BpfOp::Lsh { low } else { low + 1 };
    word_by_register(asm, op, word, src);
}

/// Emits the shift of a register pair by 32 bits or more.
fn by_32_or_more(asm: &mut Assembler, op: BpfOp, low: u8, src: u8) {
    let high = low + 1;
    match op {
        BpfOp::Lsh => {
            asm.shift_by(a(src));
            asm.shifted(high, low, ShiftKind::Left, Indirect);
            asm.constant(Dst::Both(low), 0);
        }
        BpfOp::Rsh => {
            asm.shift_by(a(src));
            asm.shifted(low, high, ShiftKind::Right, Indirect);
            asm.constant(Dst::Both(high), 0);
        }
        _ => {
            asm.alu(Dst::None, a(src), AluOp::Or, b(high));
            asm.arithmetic_shift(low, high, Indirect);
            asm.arithmetic_shift(high, high, ShiftAmount::Bits(31));
        }
    }
}

/// Emits code for amounts below 32 and for larger amounts, with a branch that chooses between them
/// at run time.
fn by_any_amount(asm: &mut Assembler, op: BpfOp, low: u8, src: u8) {
    // Order of the code: branch, first word, branch with the second word in its two delay slots.
    let first = if op == BpfOp::Lsh { 3 } else { 2 };
    let from_32 = asm.here() + 1 + first + 3;
    let behind = from_32 + 3;
    asm.branch_if_bit(a(src), WORD_BIT, Label::Insn(from_32));
    receiving_word_below_32(asm, op, low, src);
    asm.branch(BranchCondition::Always, Label::Insn(behind), 2);
    other_word_below_32(asm, op, low, src);
    by_32_or_more(asm, op, low, src);
}
