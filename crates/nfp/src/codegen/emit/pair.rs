//! Pairs of the SmartNIC's 32-bit registers, each of which holds a 64-bit BPF register with the low
//! word first.

use slowpath_bpf::insn::Register;

use super::assembler::{Assembler, Dst};
use crate::codegen::annotated::AnnotatedInsn;

/// Returns the number of the low register in the pair that holds a BPF register.
pub(super) fn pair(register: Register) -> u8 {
    2 * register.number()
}

/// Emits code that sets the high word of a 32-bit result to zero, unless no instruction reads the
/// high word.
pub(super) fn zero_extend(asm: &mut Assembler, insn: &AnnotatedInsn, number: u8) {
    if insn.zero_extends {
        asm.constant(Dst::Both(number + 1), 0);
    }
}
