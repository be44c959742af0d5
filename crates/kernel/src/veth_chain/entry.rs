//! Generates the program that a device runs first on each frame, and that starts the chain of
//! programs.

use std::os::fd::BorrowedFd;

use slowpath_bpf::insn::helper::{TAIL_CALL, XDP_ADJUST_HEAD};
use slowpath_bpf::insn::{AluOp, Condition, Register, Size, Source};

use crate::generated::Assembly;

/// `XDP_ABORTED`.
const ABORTED: i32 = 0;
/// Number of bytes of headroom to clear. No device has more headroom.
const ROOM: usize = 512;

/// Generates a program that clears the headroom of the packet, and then calls the first program of
/// the program array `next`. Drivers reuse memory, so the headroom would contain data of earlier
/// packets. Then it would differ between runs of the same packet.
pub fn entry(next: BorrowedFd) -> Assembly {
    let (context, moved, data, end) = (Register::R6, Register::R7, Register::R2, Register::R3);
    let mut code = Assembly::default();
    code.mov(context, Source::Reg(Register::R1));
    code.set(moved, 0);
    let steps = std::iter::repeat_n((8, Size::DW), ROOM / 8);
    let rest = [(4, Size::W), (2, Size::H), (1, Size::B)];
    for (bytes, size) in steps.chain(rest) {
        code.mov(Register::R1, Source::Reg(context));
        code.set(Register::R2, -bytes);
        code.call(XDP_ADJUST_HEAD);
        let no_room = code.jump_if(Condition::Ne, Register::R0, Source::Imm(0));
        code.alu(AluOp::Add, moved, Source::Imm(bytes));
        code.load(Size::W, data, context, 0);
        code.load(Size::W, end, context, 4);
        code.mov(Register::R4, Source::Reg(data));
        code.alu(AluOp::Add, Register::R4, Source::Imm(bytes));
        let short = code.jump_if(Condition::Gt, Register::R4, Source::Reg(end));
        code.store(size, data, 0, Source::Imm(0));
        // Both targets are near, so this cannot fail.
        let _ = code.land(no_room) && code.land(short);
    }
    code.mov(Register::R1, Source::Reg(context));
    code.mov(Register::R2, Source::Reg(moved));
    code.call(XDP_ADJUST_HEAD);
    code.mov(Register::R1, Source::Reg(context));
    code.map(Register::R2, next);
    code.set(Register::R3, 0);
    code.call(TAIL_CALL);
    code.exit(ABORTED);
    code
}
