//! Pairs of the card's registers, which hold BPF registers: low word first.

use slowpath_bpf::insn::Register;

use super::assembler::{Assembler, Dst};
use crate::codegen::annotated::AnnotatedInsn;

/// The low register of the pair that holds a BPF register.
pub(super) fn pair(register: Register) -> u8 {
    2 * register.number()
}

/// Zeros above a 32-bit result, where something reads them.
pub(super) fn zero_extend(asm: &mut Assembler, insn: &AnnotatedInsn, number: u8) {
    if insn.zero_extends {
        asm.constant(Dst::Both(number + 1), 0);
    }
}
