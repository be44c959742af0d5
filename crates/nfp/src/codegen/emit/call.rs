//! Emits calls of the program's own functions (`bpf_to_bpf_call`, `nfp_subprog_epilogue` of the
//! driver). The caller moves the frame pointer and passes the return address in a register; the
//! callee stores the address in its frame. A subroutine saves `r6` to `r9` if the callee changes
//! them.

use super::assembler::{Assembler, IMM_B, Label, RETURN, STACK, local};
use crate::codegen::analysis::frames::Function;
use crate::firmware::FRAME_ALIGN;
use crate::{AluOp, BranchCondition, Insn};

/// Emits a call of one of the program's own functions. The caller's stack frame has `depth` bytes.
pub(super) fn call(asm: &mut Assembler, depth: u32, callee: Function) {
    let depth = depth.next_multiple_of(FRAME_ALIGN);
    let to = Label::Slot(callee.first);
    move_frame(asm, depth, AluOp::Add);
    if callee.saves_registers {
        asm.branch(BranchCondition::Always, Label::SaveRegisters, 2);
        asm.address_of(IMM_B, to);
    } else {
        asm.branch(BranchCondition::Always, to, 1);
    }
    let behind = asm.here() + 1;
    asm.address_of(RETURN, Label::Insn(behind));
    if move_frame(asm, depth, AluOp::Sub) {
        asm.nops(3);
    }
}

/// Emits code that moves the stack pointer by `depth` bytes. Returns false if `depth` is zero, so
/// that no code is needed.
fn move_frame(asm: &mut Assembler, depth: u32, direction: AluOp) -> bool {
    if depth == 0 {
        return false;
    }
    let depth = asm.operand(depth, IMM_B);
    asm.alu(STACK, STACK, direction, depth);
    asm.local_base(0, STACK);
    true
}

/// Emits the first instructions of a called function, which store the return address at the start
/// of its stack frame.
pub(super) fn enter(asm: &mut Assembler) {
    asm.mov(local(0, 0), RETURN);
}

/// Emits the last instructions of a called function, which return to its caller.
pub(super) fn leave(asm: &mut Assembler, function: Function) {
    if function.saves_registers {
        asm.branch(BranchCondition::Always, Label::RestoreRegisters, 1);
        asm.mov(RETURN, local(0, 0));
    } else {
        asm.mov(RETURN, local(0, 0));
        asm.push(Insn::Return { src: RETURN, defer: 0 });
    }
}
