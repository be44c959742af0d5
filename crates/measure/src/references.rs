//! Programs whose cost is known: what is timed is compared with them.

use slowpath_bpf::insn::{AluOp, Insn, Register, Source, Width};
use slowpath_kernel::{Kernel, LoadError, Loaded};

/// Registers that they go to in turn: each waits for the sixth before it only, so that they are
/// limited by how many instructions the CPU can do at once.
pub const REGISTERS: [Register; 6] =
    [Register::R0, Register::R1, Register::R2, Register::R3, Register::R4, Register::R5];
/// The packet of programs that look at none.
pub const PACKET: [u8; 60] = [0; 60];
/// `XDP_PASS`.
pub const PASS: u32 = 2;

/// An instruction that sets a register to a number.
pub fn set(dst: Register, value: i32) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(value) }
}

/// A program that does nothing but let packets pass.
pub fn empty(kernel: &Kernel, fragments: bool) -> Result<Loaded, LoadError> {
    kernel.load_generated(
        "slowpath_empty",
        &[set(Register::R0, PASS.cast_signed()), Insn::Exit],
        fragments,
    )
}
