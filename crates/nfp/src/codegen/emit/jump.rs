//! Emits comparisons and conditional jumps (`jeq_imm`, `jne_imm`, `jset_imm`, `cmp_imm`, `cmp_reg`,
//! `wrp_test_reg` of the Linux NFP driver).

use slowpath_bpf::insn::{Condition, Register, Source, Width};

use super::assembler::{Assembler, Dst, IMM_A, IMM_B, Label, a, b};
use super::pair::pair;
use crate::codegen::annotated::AnnotatedInsn;
use crate::{AluOp, BranchCondition, Operand};

/// Emits a conditional jump to the BPF instruction at index `target`.
pub(super) fn branch(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    (width, condition, dst, src): (Width, Condition, Register, Source),
    target: usize,
) {
    let label = Label::Slot(target);
    let left = pair(dst);
    match (condition, src) {
        (Condition::Eq, Source::Imm(value)) => equal_constant(asm, width, left, value, label),
        (Condition::Ne, Source::Imm(value)) => differs_constant(asm, width, left, value, label),
        (Condition::Set, Source::Imm(value)) => set_constant(asm, width, left, value, label),
        (Condition::Eq, Source::Reg(src)) => equal(asm, width, left, pair(src), label),
        (Condition::Ne, Source::Reg(src)) => {
            any_word(asm, width, left, AluOp::Xor, pair(src), label);
        }
        (Condition::Set, Source::Reg(src)) => {
            any_word(asm, width, left, AluOp::And, pair(src), label);
        }
        (_, Source::Imm(value)) => {
            compare_constant(asm, insn, width, condition, left, value, label);
        }
        (_, Source::Reg(src)) => compare(asm, width, condition, left, pair(src), label),
    }
}

fn equal_constant(asm: &mut Assembler, width: Width, left: u8, value: i32, label: Label) {
    let low = value as u32;
    if width == Width::W32 {
        let value = asm.operand(low, IMM_B);
        asm.alu(Dst::None, a(left), AluOp::Xor, value);
        asm.branch(BranchCondition::Equal, label, 0);
        return;
    }
    let high = (i64::from(value) >> 32) as u32;
    let (mut low_difference, mut high_difference) = (a(left), b(left + 1));
    if low != 0 {
        let value = asm.operand(low, IMM_B);
        asm.alu(IMM_A, a(left), AluOp::Xor, value);
        low_difference = IMM_A;
    }
    if high != 0 {
        let value = asm.operand(high, IMM_B);
        asm.alu(IMM_B, a(left + 1), AluOp::Xor, value);
        high_difference = IMM_B;
    }
    asm.alu(Dst::None, low_difference, AluOp::Or, high_difference);
    asm.branch(BranchCondition::Equal, label, 0);
}

fn differs_constant(asm: &mut Assembler, width: Width, left: u8, value: i32, label: Label) {
    if value == 0 {
        match width {
            Width::W32 => asm.mov(Dst::None, b(left)),
            Width::W64 => asm.alu(Dst::None, a(left), AluOp::Or, b(left + 1)),
        }
        asm.branch(BranchCondition::NotEqual, label, 0);
        return;
    }
    let words = [(left, value as u32), (left + 1, (i64::from(value) >> 32) as u32)];
    let count = if width == Width::W32 { 1 } else { 2 };
    for (number, word) in words.into_iter().take(count) {
        let word = asm.operand(word, IMM_B);
        asm.alu(Dst::None, a(number), AluOp::Xor, word);
        asm.branch(BranchCondition::NotEqual, label, 0);
    }
}

fn set_constant(asm: &mut Assembler, width: Width, left: u8, value: i32, label: Label) {
    let mask = asm.operand(value as u32, IMM_B);
    asm.alu(IMM_B, a(left), AluOp::And, mask);
    // The high word of the mask is all zeros or all ones.
    if width == Width::W64 && value < 0 {
        asm.alu(Dst::None, a(left + 1), AluOp::Or, IMM_B);
    }
    asm.branch(BranchCondition::NotEqual, label, 0);
}

fn equal(asm: &mut Assembler, width: Width, left: u8, right: u8, label: Label) {
    asm.alu(IMM_A, a(left), AluOp::Xor, b(right));
    if width == Width::W64 {
        asm.alu(IMM_B, a(left + 1), AluOp::Xor, b(right + 1));
        asm.alu(Dst::None, IMM_A, AluOp::Or, IMM_B);
    }
    asm.branch(BranchCondition::Equal, label, 0);
}

/// Emits a branch to `label` that is taken if `left op right` is not zero. For 64-bit operands,
/// there is a branch for each word.
fn any_word(asm: &mut Assembler, width: Width, left: u8, op: AluOp, right: u8, label: Label) {
    let words = if width == Width::W32 { 1 } else { 2 };
    for word in 0..words {
        asm.alu(Dst::None, a(left + word), op, b(right + word));
        asm.branch(BranchCondition::NotEqual, label, 0);
    }
}

/// Returns a branch condition that is true after a subtraction of the operands if and only if
/// `condition` holds. The returned flag is true if the operands must be swapped before the
/// subtraction.
fn ordered(condition: Condition) -> (BranchCondition, bool) {
    use BranchCondition::{CarryClear, CarrySet, GreaterOrEqual, Less};
    match condition {
        Condition::Gt => (CarryClear, true),
        Condition::Ge => (CarrySet, false),
        Condition::Lt => (CarryClear, false),
        Condition::Le => (CarrySet, true),
        Condition::Sgt => (Less, true),
        Condition::Sge => (GreaterOrEqual, false),
        Condition::Slt => (Less, false),
        // `Sle`, the only condition left: equality has its own sequences.
        _ => (GreaterOrEqual, true),
    }
}

fn compare(
    asm: &mut Assembler,
    width: Width,
    condition: Condition,
    left: u8,
    right: u8,
    label: Label,
) {
    let (branch, swapped) = ordered(condition);
    let (left, right) = if swapped { (right, left) } else { (left, right) };
    asm.alu(Dst::None, a(left), AluOp::Sub, b(right));
    if width == Width::W64 {
        asm.alu(Dst::None, a(left + 1), AluOp::SubCarry, b(right + 1));
    }
    asm.branch(branch, label, 0);
}

fn compare_constant(
    asm: &mut Assembler,
    insn: &AnnotatedInsn,
    width: Width,
    condition: Condition,
    left: u8,
    value: i32,
    label: Label,
) {
    let (branch, swapped) = ordered(condition);
    let (first, second) =
        if insn.negated { (AluOp::Add, AluOp::AddCarry) } else { (AluOp::Sub, AluOp::SubCarry) };
    let mut word = |number: u8, op: AluOp, value: u32| {
        let value: Operand = asm.operand(value, IMM_B);
        let (left, right) = if swapped { (value, a(number)) } else { (a(number), value) };
        asm.alu(Dst::None, left, op, right);
    };
    word(left, first, value as u32);
    if width == Width::W64 {
        word(left + 1, second, (i64::from(value) >> 32) as u32);
    }
    asm.branch(branch, label, 0);
}
