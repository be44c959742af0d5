//! Emits moves and arithmetic: two instructions for 64 bits, one for 32 bits (`wrp_alu_imm`,
//! `wrp_alu64_*`, `wrp_alu32_*`, `end_reg32` of the driver).

use slowpath_bpf::insn::{AluOp as BpfOp, Register, Size, Source, Width};

use super::assembler::{Assembler, Dst, IMM_A, IMM_B, STACK, a, b, imm};
use super::pair::{pair, zero_extend};
use super::{divide, multiply, shift};
use crate::codegen::annotated::AnnotatedInsn;
use crate::{AluOp, Operand, Shift, ShiftAmount, ShiftKind};

/// Emits an arithmetic instruction of BPF (RFC 9669, section 4.1). `depth` is the distance in bytes
/// from the first byte of the stack frame to the frame pointer.
pub(super) fn alu(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    (width, op, dst, src): (Width, BpfOp, Register, Source),
    depth: u32,
) {
    let number = pair(dst);
    match op {
        BpfOp::Mov => mov(asm, width, dst, src, depth),
        BpfOp::Mul => multiply::multiply(asm, insn, width, dst, src),
        BpfOp::Div => {
            let divisor = match src {
                Source::Reg(_) => insn.bounds.src().0 as u32,
                Source::Imm(value) => value as u32,
            };
            divide::divide(asm, number, divisor);
        }
        BpfOp::Lsh | BpfOp::Rsh | BpfOp::Arsh => shift::shift(asm, insn, width, op, dst, src),
        _ => {
            let (low, high) = words(op);
            match (width, src) {
                (Width::W64, Source::Reg(src)) => {
                    with_register(asm, number, low, pair(src));
                    with_register(asm, number + 1, high, pair(src) + 1);
                }
                (Width::W64, Source::Imm(value)) => {
                    let value = i64::from(value);
                    with_constant(asm, number, low, value as u32);
                    with_constant(asm, number + 1, high, (value >> 32) as u32);
                }
                (Width::W32, Source::Reg(src)) => with_register(asm, number, low, pair(src)),
                (Width::W32, Source::Imm(value)) => with_constant(asm, number, low, value as u32),
            }
            if width == Width::W32 {
                zero_extend(asm, insn, number);
            }
        }
    }
}

/// Returns the card's operators for the low word and for the high word of a 64-bit operation.
fn words(op: BpfOp) -> (AluOp, AluOp) {
    match op {
        BpfOp::Add => (AluOp::Add, AluOp::AddCarry),
        BpfOp::Sub => (AluOp::Sub, AluOp::SubCarry),
        BpfOp::And => (AluOp::And, AluOp::And),
        BpfOp::Or => (AluOp::Or, AluOp::Or),
        _ => (AluOp::Xor, AluOp::Xor),
    }
}

fn with_register(asm: &mut Assembler, dst: u8, op: AluOp, src: u8) {
    asm.alu(Dst::Both(dst), a(dst), op, b(src));
}

/// Emits an operation of a register with a constant. A bitwise operation with the constant 0 or
/// 0xffff_ffff takes a simpler instruction, or none.
fn with_constant(asm: &mut Assembler, dst: u8, op: AluOp, value: u32) {
    let both_banks = Dst::Both(dst);
    match (op, value) {
        (AluOp::And, 0) => asm.constant(both_banks, 0),
        (AluOp::Or, u32::MAX) => asm.constant(both_banks, u32::MAX),
        (AluOp::Xor, u32::MAX) => asm.alu(both_banks, Operand::None, AluOp::NotB, b(dst)),
        (AluOp::And, u32::MAX) | (AluOp::Or | AluOp::Xor, 0) => {}
        _ => {
            let value = asm.operand(value, IMM_B);
            asm.alu(both_banks, a(dst), op, value);
        }
    }
}

fn mov(asm: &mut Assembler, width: Width, dst: Register, src: Source, depth: u32) {
    let number = pair(dst);
    match (width, src) {
        (Width::W64, Source::Reg(Register::FRAME)) => {
            let depth = asm.operand(depth, IMM_B);
            asm.alu(Dst::Both(number), STACK, AluOp::Add, depth);
            asm.constant(Dst::Both(number + 1), 0);
        }
        (Width::W64, Source::Reg(src)) => {
            asm.mov_reg(number, pair(src));
            asm.mov_reg(number + 1, pair(src) + 1);
        }
        (Width::W64, Source::Imm(value)) => {
            asm.constant(Dst::Both(number), value as u32);
            asm.constant(Dst::Both(number + 1), (i64::from(value) >> 32) as u32);
        }
        (Width::W32, Source::Reg(src)) => {
            asm.mov_reg(number, pair(src));
            asm.constant(Dst::Both(number + 1), 0);
        }
        (Width::W32, Source::Imm(value)) => {
            asm.constant(Dst::Both(number), value as u32);
            asm.constant(Dst::Both(number + 1), 0);
        }
    }
}

/// Emits code for `dst = -dst`.
pub(super) fn negate(asm: &mut Assembler, insn: &AnnotatedInsn, width: Width, dst: Register) {
    let number = pair(dst);
    asm.alu(Dst::Both(number), imm(0), AluOp::Sub, b(number));
    match width {
        Width::W64 => asm.alu(Dst::Both(number + 1), imm(0), AluOp::SubCarry, b(number + 1)),
        Width::W32 => zero_extend(asm, insn, number),
    }
}

/// Emits code that loads a 64-bit constant. If both words are equal, the high word is copied from
/// the low one.
pub(super) fn constant64(asm: &mut Assembler, dst: Register, value: u64) {
    let (number, low, high) = (pair(dst), value as u32, (value >> 32) as u32);
    asm.constant(Dst::Both(number), low);
    if high == low {
        asm.mov(Dst::Both(number + 1), a(number));
    } else {
        asm.constant(Dst::Both(number + 1), high);
    }
}

/// Emits code that writes the word `src` with reversed bytes to register `dst` of both banks.
fn swap_word(asm: &mut Assembler, src: Operand, dst: u8) {
    asm.field(Dst::Both(dst), 0b1111, src, rotated(8));
    asm.field(Dst::Both(dst), 0b0101, a(dst), rotated(16));
}

fn rotated(bits: u8) -> Option<Shift> {
    Some(Shift { kind: ShiftKind::RotateRight, amount: ShiftAmount::Bits(bits) })
}

/// Emits code that converts a register from the byte order of the host to network byte order.
pub(super) fn to_network_order(asm: &mut Assembler, size: Size, dst: Register) {
    let number = pair(dst);
    match size {
        Size::H => {
            asm.field(Dst::Both(number), 0b1001, b(number), rotated(8));
            let down = Some(Shift { kind: ShiftKind::Right, amount: ShiftAmount::Bits(16) });
            asm.field(Dst::Both(number), 0b1110, a(number), down);
            asm.constant(Dst::Both(number + 1), 0);
        }
        Size::DW => {
            asm.mov(IMM_A, b(number + 1));
            swap_word(asm, a(number), number + 1);
            swap_word(asm, IMM_A, number);
        }
        _ => {
            swap_word(asm, a(number), number);
            asm.constant(Dst::Both(number + 1), 0);
        }
    }
}
