//! Finds memory copies whose effect differs from that of the loads and stores that they replace.

use slowpath_bpf::insn::{Insn, Size};

use super::liveness;
use crate::codegen::annotated::AnnotatedProgram;

/// Returns true if the program reads the loaded register after the memory copy at index `slot`, and
/// the copy leaves a wrong value in it. The right value is that of the last load which the copy
/// replaces. For words with ascending offsets, the driver leaves the first word. For smaller loads
/// with descending offsets, it leaves wrong bytes.
pub(super) fn leaves_wrong_value(program: &AnnotatedProgram<'_>, slot: usize) -> bool {
    let insn = &program.insns[slot];
    let (Some(copy), Insn::Load { size, dst, .. }) = (insn.copy, insn.insn) else { return false };
    let wrong = match size {
        Size::W => !copy.descending,
        Size::B | Size::H => copy.descending,
        Size::DW => false,
    };
    let behind = slot + 2 * usize::from(copy.length / size.bytes());
    wrong && liveness::is_read(program, behind, dst)
}

/// Returns true if the memory copy at index `slot` replaces loads that read bytes which earlier
/// stores of the sequence have written. The driver compares the starts of loads and stores, but not
/// their ends. It therefore misses an overlap at the end of the last access.
pub(super) fn overlaps(program: &AnnotatedProgram<'_>, slot: usize) -> bool {
    let insn = &program.insns[slot];
    let (Some(copy), Insn::Load { base, offset, .. }) = (insn.copy, insn.insn) else {
        return false;
    };
    let (from, to) = ((slot, base.number()), (slot + 1, copy.to.number()));
    let Some(distance) = program.registers.packet_distance(from, to) else { return false };
    let ahead = distance + i64::from(copy.to_offset) - i64::from(offset);
    let ahead = if copy.descending { -ahead } else { ahead };
    (1..i64::from(copy.length)).contains(&ahead)
}
