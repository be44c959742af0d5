//! Memory copies that do something else than the loads and stores that they are made of.

use slowpath_bpf::insn::{Insn, Size};

use super::liveness;
use crate::codegen::annotated::AnnotatedProgram;

/// Whether a register is read behind a copy where the driver leaves another value in it than the
/// program's last load: the first word of ascending pairs of words, and the wrong bytes of descending
/// pairs of less.
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

/// Whether a copy reads bytes that its own earlier pairs have written: the driver looks at where
/// pairs start, not at where they end, so that the last one may.
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
