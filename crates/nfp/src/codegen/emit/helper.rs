//! Emits calls of kernel helpers. A call becomes inline code or a call of the stock firmware. For
//! the array map of the firmware of Krude et al. (CoNEXT 2021), a look-up becomes an address
//! computation (`adjust_head`, `adjust_tail`, `map_call_stack_common`, `nfp_get_prandom_u32`,
//! `nfp_perf_event_output` of the Linux NFP driver).

use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_UPDATE_ELEM, PERF_EVENT_OUTPUT, XDP_ADJUST_HEAD, XDP_ADJUST_TAIL,
};
use slowpath_bpf::lift::{Offset, RegisterValue};

use super::assembler::{
    Assembler, Dst, IMM_A, IMM_B, LENGTH, Label, MAP, STACK, VECTOR_LENGTH, VECTOR_POINTER, a, b,
    imm, local,
};
use crate::codegen::access::constant_offset;
use crate::codegen::annotated::AnnotatedProgram;
use crate::csr::PSEUDO_RANDOM;
use crate::firmware::{ETHERNET_HEADER, MAX_HEAD_OFFSET, MIN_HEAD_OFFSET, MapAbi};
use crate::{AluOp, BranchCondition, FIRST_EXIT, Insn, ShiftAmount, ShiftKind};

/// The error number `-EINVAL`, as a word.
const EINVAL: u32 = -22i32 as u32;

/// Emits code for the instruction at index `slot`, a call of the kernel helper `number`.
pub(super) fn call(
    asm: &mut Assembler,
    program: &AnnotatedProgram<'_>,
    slot: usize,
    number: i32,
    abi: MapAbi,
    depth: u32,
) {
    match (number, abi) {
        (XDP_ADJUST_HEAD, _) if program.unchecked_head == Some(slot) => move_head(asm),
        (XDP_ADJUST_HEAD, _) => adjust_head(asm),
        (XDP_ADJUST_TAIL, _) => adjust_tail(asm),
        (GET_PRANDOM_U32, _) => random(asm),
        (PERF_EVENT_OUTPUT, _) => {
            let data = program.registers.before(slot, 4);
            call_perf_output(asm, data);
        }
        (_, MapAbi::ArrayPointer) => look_up(asm, program, slot, depth),
        (_, MapAbi::Call) => call_map(asm, program, slot, number, depth),
    }
}

/// Register with the low word of `r2`. In this argument, helpers get the distance in bytes by which
/// they move the start or end of the packet.
const DISTANCE: u8 = 4;

fn result(asm: &mut Assembler, low: u32, high: u32) {
    asm.constant(Dst::Both(0), low);
    asm.constant(Dst::Both(1), high);
}

fn move_head(asm: &mut Assembler) {
    asm.alu(VECTOR_POINTER, a(DISTANCE), AluOp::Add, VECTOR_POINTER);
    asm.alu(LENGTH, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Sub, a(DISTANCE));
    result(asm, 0, 0);
}

fn adjust_head(asm: &mut Assembler) {
    use BranchCondition::{CarryClear, Minus};
    let invalid = asm.here() + 14;
    let behind = invalid + 2;
    let fail = |asm: &mut Assembler, condition| asm.branch(condition, Label::Insn(invalid), 0);
    // The low half word of the address is the offset in the buffer.
    asm.alu(IMM_A, a(DISTANCE), AluOp::Add16, VECTOR_POINTER);
    asm.alu(Dst::None, IMM_A, AluOp::Sub, imm(MIN_HEAD_OFFSET));
    fail(asm, CarryClear);
    asm.alu(Dst::None, imm(MAX_HEAD_OFFSET), AluOp::Sub, IMM_A);
    fail(asm, CarryClear);
    asm.alu(IMM_B, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(Dst::None, IMM_B, AluOp::Sub, imm(ETHERNET_HEADER));
    fail(asm, Minus);
    result(asm, 0, 0);
    asm.field(VECTOR_POINTER, 0b0011, IMM_A, None);
    asm.branch(BranchCondition::Always, Label::Insn(behind), 2);
    asm.alu(LENGTH, LENGTH, AluOp::Sub, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Sub, a(DISTANCE));
    result(asm, EINVAL, u32::MAX);
}

fn adjust_tail(asm: &mut Assembler) {
    let invalid = asm.here() + 9;
    let behind = invalid + 2;
    // The sum carries exactly if the packet shrinks. A distance of zero does not carry and is
    // rejected.
    asm.alu(IMM_A, LENGTH, AluOp::Add, a(DISTANCE));
    asm.branch(BranchCondition::CarryClear, Label::Insn(invalid), 0);
    asm.alu(Dst::None, IMM_A, AluOp::Sub, imm(ETHERNET_HEADER));
    asm.branch(BranchCondition::Minus, Label::Insn(invalid), 0);
    asm.alu(LENGTH, LENGTH, AluOp::Add, a(DISTANCE));
    asm.alu(VECTOR_LENGTH, VECTOR_LENGTH, AluOp::Add, a(DISTANCE));
    asm.branch(BranchCondition::Always, Label::Insn(behind), 2);
    result(asm, 0, 0);
    result(asm, EINVAL, u32::MAX);
}

fn random(asm: &mut Assembler) {
    asm.push(Insn::LocalCsrRd { csr: PSEUDO_RANDOM });
    // The first `immed` receives the random number.
    result(asm, 0, 0);
}

/// Returns true if base register 0 has to be set before a map look-up, because it does not already
/// point to the key in the stack.
fn key_needs_base(program: &AnnotatedProgram<'_>, slot: usize, depth: u32) -> bool {
    match program.registers.before(slot, 2) {
        RegisterValue::Stack { offset, .. } => {
            let place = constant_offset(offset).map(|offset| offset + i64::from(depth));
            !matches!(offset, Offset::Constant(_)) || place != Some(0)
        }
        _ => true,
    }
}

/// Register that points to the key in the stack, the low word of `r2`. A look-up copies it to base
/// register 0 and restores the base register afterwards.
const KEY: u8 = 4;

fn restore_local_base(asm: &mut Assembler) {
    asm.local_base(0, STACK);
    asm.nops(3);
}

/// Computes the address of an element in an array map. The index is shifted by the element size,
/// which is a power of two, and then masked (as in the driver that Krude et al. patched).
fn look_up(asm: &mut Assembler, program: &AnnotatedProgram<'_>, slot: usize, depth: u32) {
    let RegisterValue::Map(number) = program.registers.before(slot, 1) else { return };
    let Some(map) = program.map(number) else { return };
    let elsewhere = key_needs_base(program, slot, depth);
    if elsewhere {
        asm.local_base(0, b(KEY));
    }
    asm.mov(Dst::Both(1), MAP);
    let size = map.value_size.next_power_of_two();
    let mask = map.max_entries.wrapping_mul(size).wrapping_sub(1);
    let mask = if elsewhere {
        asm.nops(1);
        asm.constant(IMM_A, mask);
        IMM_A
    } else {
        asm.restricted(mask, IMM_A)
    };
    let amount = ShiftAmount::Bits(size.trailing_zeros() as u8);
    asm.shift(Dst::Both(0), mask, AluOp::And, local(0, 0), ShiftKind::Left, amount);
    if elsewhere {
        restore_local_base(asm);
    }
}

/// Emits a branch to a firmware function. The driver replaces the branch target by the function's
/// address when it loads the program.
fn branch_to_firmware(asm: &mut Assembler, number: i32) {
    let number = u32::try_from(number).unwrap_or(0);
    asm.leave(BranchCondition::Always, FIRST_EXIT + number, 2);
}

fn call_map(
    asm: &mut Assembler,
    program: &AnnotatedProgram<'_>,
    slot: usize,
    number: i32,
    depth: u32,
) {
    /// Register that points to the value in the stack, the low word of `r3`.
    const VALUE: u8 = 6;
    let elsewhere = key_needs_base(program, slot, depth);
    if elsewhere {
        asm.local_base(0, b(KEY));
    }
    if number == MAP_UPDATE_ELEM {
        asm.local_base(2, b(VALUE));
    }
    branch_to_firmware(asm, number);
    asm.mov(a(0), a(2));
    let behind = asm.here() + 1;
    asm.address_of(b(0), Label::Insn(behind));
    if elsewhere {
        restore_local_base(asm);
    }
}

fn call_perf_output(asm: &mut Assembler, data: RegisterValue) {
    // Kinds of pointers, numbered by `enum bpf_reg_type` as the firmware knows it (`bpf/fw.h` of
    // the driver).
    let kind = match data {
        RegisterValue::MapValue { .. } => 4,
        RegisterValue::Stack { .. } => 6,
        RegisterValue::Packet => 8,
        _ => 1,
    };
    let kind = asm.operand(kind, IMM_A);
    branch_to_firmware(asm, PERF_EVENT_OUTPUT);
    asm.mov(a(1), kind);
    let behind = asm.here() + 1;
    asm.address_of(b(0), Label::Insn(behind));
}
