//! Emits accesses to fields of the program's context (`mem_ldx_xdp`, `nfp_queue_select` of the
//! driver).

use slowpath_bpf::insn::Register;

use super::assembler::{
    Assembler, Dst, LENGTH, Label, VECTOR_POINTER, VECTOR_QUEUE, VECTOR_QUEUE_SET, a, b, imm,
};
use super::pair::pair;
use crate::{AluOp, BranchCondition, ShiftAmount, ShiftKind};

/// Largest queue number that fits into the 8-bit queue field of the firmware.
const QUEUES: u32 = 0xff;
/// Value of the firmware's queue field for queue numbers that do not fit (`NFP_NET_RXR_MAX`).
const NO_QUEUE: u32 = 64;
/// Index of the flag bit that tells the firmware that the program has selected a queue.
const SELECTED: u8 = 4;

/// Emits code that loads the address of the packet's first byte or, if `end` is true, of the
/// packet's end.
pub(super) fn load(asm: &mut Assembler, dst: Register, end: bool) {
    let number = pair(dst);
    if end {
        asm.alu(Dst::Both(number), LENGTH, AluOp::Add, VECTOR_POINTER);
    } else {
        asm.mov(Dst::Both(number), VECTOR_POINTER);
    }
    asm.constant(Dst::Both(number + 1), 0);
}

/// Emits a store to `rx_queue_index`, which selects the host queue that receives the packet.
pub(super) fn select_queue(asm: &mut Assembler, src: Register) {
    let number = pair(src);
    let behind = asm.here() + 5;
    asm.alu(Dst::None, a(number), AluOp::AndNot, imm(QUEUES));
    asm.branch(BranchCondition::Equal, Label::Insn(behind), 2);
    let bit = ShiftAmount::Bits(SELECTED);
    asm.shift(VECTOR_QUEUE_SET, VECTOR_QUEUE_SET, AluOp::Or, imm(1), ShiftKind::Left, bit);
    asm.field(VECTOR_QUEUE, 0b0001, b(number), None);
    // The branch skips this instruction if the number fits.
    asm.field(VECTOR_QUEUE, 0b0001, imm(NO_QUEUE), None);
}
