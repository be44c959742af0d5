//! Finds memory copies whose effect differs from that of the loads and stores that they replace.

use slowpath_bpf::insn::{Insn, Size};

use super::liveness;
use crate::codegen::annotated::AnnotatedProgram;

/// Returns true if the memory copy at index `slot` leaves another value in the loaded register than
/// the program's last load, and the program reads it. The driver leaves the first word if the
/// replaced loads and stores are words with ascending offsets. It leaves wrong bytes if they are
/// smaller and have descending offsets.
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

/// Returns true if some loads of the memory copy at `slot` read bytes that its earlier stores have
/// written. The driver compares the starts of these accesses but not their ends, so it misses an
/// overlap of the last one.
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
