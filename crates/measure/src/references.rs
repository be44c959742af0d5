//! Programs of known cost, as references for timed programs.

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::{Kernel, LoadError, LoadedProgram};

/// Registers that the additions write to in turn. Each addition depends only on the sixth before
/// it, so the CPU's issue width limits their rate.
pub const REGISTERS: [Register; 6] =
    [Register::R0, Register::R1, Register::R2, Register::R3, Register::R4, Register::R5];
/// Packet for programs that do not read it.
pub const PACKET: [u8; 60] = [0; 60];
/// `XDP_PASS`.
pub const PASS: u32 = 2;

/// Builds an instruction that sets a register to a constant.
pub fn set(dst: Register, value: i32) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(value) }
}

/// Loads a program that only passes packets on.
pub fn empty(kernel: &Kernel, fragments: bool) -> Result<LoadedProgram, LoadError> {
    kernel.load_generated(
        "slowpath_empty",
        &[set(Register::R0, PASS.cast_signed()), Insn::Exit],
        fragments,
    )
}
