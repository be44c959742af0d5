//! Emits the code around a program: its start, the conversion of its result for the firmware, and
//! the subroutines that save registers around calls (`nfp_intro`, `nfp_outro_xdp`,
//! `nfp_push_callee_registers`, `nfp_pop_callee_registers` of the Linux NFP driver).

use super::assembler::{
    Assembler, Dst, IMM_B, LENGTH, Label, RETURN, VECTOR_LENGTH, a, b, imm, local,
};
use crate::firmware::{MAX_PACKET, MAX_RESULT};
use crate::{AluOp, BranchCondition, FIRST_EXIT, Insn, Operand, Shift, ShiftAmount, ShiftKind};

/// The firmware's action and statistics codes for the XDP results 0 to 3 (`XDP_ABORTED`,
/// `XDP_DROP`, `XDP_PASS`, `XDP_TX`). Each code is one byte; the lowest byte is the code for result
/// 0 (`nfp_outro_xdp`).
const RESULTS: u32 = 0x4411_2282;
const ABORTED: u32 = 0x82;
/// Number of instructions that the SmartNIC prefetches (`NFP_USTORE_PREFETCH_WINDOW`).
const PREFETCHED: usize = 8;

/// Emits a branch that leaves the program, with `defer` delay slots. When the driver loads the
/// program, it sets the target of this branch: the code after the program, or the next packet.
pub(super) fn leave(asm: &mut Assembler, defer: u8) {
    asm.leave(BranchCondition::Always, FIRST_EXIT, defer);
}

/// Emits code that extracts the packet's length from word 0 of the packet vector, which is the
/// firmware's description of a packet.
pub(super) fn start(asm: &mut Assembler) {
    asm.constant(LENGTH, MAX_PACKET.into());
    asm.alu(LENGTH, LENGTH, AluOp::And, VECTOR_LENGTH);
}

/// Emits code that converts BPF's `r0` to the value that the firmware expects in `gprA_0`. Results
/// that the firmware does not know count as aborted.
pub(super) fn end(asm: &mut Assembler) {
    let upper_half = Some(Shift { kind: ShiftKind::Left, amount: ShiftAmount::Bits(16) });
    let aborted = asm.here();
    leave(asm, 2);
    asm.mov(a(0), imm(0));
    asm.field(a(0), 0b1100, imm(ABORTED), upper_half);

    asm.alu(Dst::None, imm(MAX_RESULT), AluOp::Sub, b(0));
    asm.branch(BranchCondition::CarryClear, Label::Insn(aborted), 0);
    asm.constant(b(2), RESULTS);
    let eight_times = ShiftAmount::Bits(3);
    asm.shift(a(1), Operand::None, AluOp::B, b(0), ShiftKind::Left, eight_times);
    asm.shift_by(a(1));
    asm.shift(b(2), imm(0xff), AluOp::And, b(2), ShiftKind::Right, ShiftAmount::Indirect);
    leave(asm, 2);
    asm.mov(a(0), imm(0));
    asm.field(a(0), 0b1100, b(2), upper_half);
}

/// Emits the subroutine that saves `r6` to `r9` to the stack, after the return address, and then
/// jumps to the address in the scratch register. Returns the index of the first emitted
/// instruction.
pub(super) fn push_registers(asm: &mut Assembler) -> usize {
    let first = asm.here();
    for (word, number) in (1..).zip(12..20) {
        asm.mov(local(0, word), b(number));
        return_after(asm, number, IMM_B);
    }
    first
}

/// Emits the subroutine that restores `r6` to `r9` and returns to the caller. Returns the index of
/// the first emitted instruction.
pub(super) fn pop_registers(asm: &mut Assembler) -> usize {
    let first = asm.here();
    for (word, number) in (1..).zip(12..20) {
        asm.mov(Dst::Both(number), local(0, word));
        return_after(asm, number, RETURN);
    }
    first
}

/// Emits the return instruction if register `number` is the fourth to last register that the
/// subroutine copies. The copies of the last three registers then fill the delay slots of the
/// return.
fn return_after(asm: &mut Assembler, number: u8, address: Operand) {
    /// Number of the register with the low word of `r8`, after which three registers remain to be
    /// copied.
    const LAST_BEFORE: u8 = 16;
    if number == LAST_BEFORE {
        asm.push(Insn::Return { src: address, defer: 3 });
    }
}

/// Emits `nop` instructions after the program, as many as the SmartNIC prefetches.
pub(super) fn padding(asm: &mut Assembler) {
    asm.nops(PREFETCHED);
}
