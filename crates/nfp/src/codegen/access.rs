//! Extracts the operands of BPF memory accesses: the base register, its constant offset, and the
//! offset of a stack pointer.

use slowpath_bpf::insn::{Insn, Register};
use slowpath_bpf::lift::Offset;

/// Returns the base register of a memory access, and the offset from it in bytes. Returns `None`
/// for other instructions.
pub(super) fn memory_operand(insn: &Insn) -> Option<(Register, i16)> {
    match *insn {
        Insn::Load { base, offset, .. }
        | Insn::Store { base, offset, .. }
        | Insn::Atomic { base, offset, .. }
        | Insn::LoadAcquire { base, offset, .. }
        | Insn::StoreRelease { base, offset, .. } => Some((base, offset)),
        _ => None,
    }
}

/// Returns the offset of a stack pointer in bytes; `None` if it is unknown. For a pointer with one
/// of several offsets, returns the offset that [`Offset::OneOf`] contains.
pub(super) fn constant_offset(offset: Offset) -> Option<i64> {
    match offset {
        Offset::Constant(offset) | Offset::OneOf(offset) => Some(offset),
        Offset::Unknown => None,
    }
}
