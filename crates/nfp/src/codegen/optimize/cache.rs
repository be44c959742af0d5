//! Packet cache: one read of the packet for several loads near each other
//! (`nfp_bpf_opt_pkt_cache`). The first load fetches all their bytes, at most 64, into transfer
//! registers.

use slowpath_bpf::insn::{Call, Insn};

use crate::codegen::annotated::{AnnotatedProgram, PacketCache};

/// Largest number of bytes that one read fetches.
const LARGEST: i32 = 64;

/// Loads that share one read.
struct Group {
    /// Slot of the first load.
    first: usize,
    start: i16,
    end: i16,
}

pub(super) fn share(program: &mut AnnotatedProgram<'_>) {
    let mut groups: Vec<Group> = Vec::new();
    // True while the transfer registers still hold the bytes that the last group fetches.
    let mut available = false;
    for slot in 0..program.insns.len() {
        let insn = &program.insns[slot];
        available &= !insn.is_target;
        if insn.skipped {
            continue;
        }
        let (size, offset) = match insn.insn {
            Insn::Store { .. } if program.accesses_packet(slot) => {
                available = false;
                continue;
            }
            Insn::Call(Call::Helper(_) | Call::Subprogram { .. } | Call::Kfunc { .. }) => {
                available = false;
                continue;
            }
            Insn::Load { size, offset, signed: false, .. } => (i16::from(size.bytes()), offset),
            _ => continue,
        };
        if !program.accesses_packet(slot) || insn.copy.is_some() {
            available = false;
            continue;
        }
        let end = offset.saturating_add(size);
        if available
            && let Some(group) = groups.last_mut()
            && same_base(program, group.first, slot)
        {
            let (start, end) = (group.start.min(offset), group.end.max(end));
            let length = i32::from(end) - i32::from(start);
            if (start, end) == (group.start, group.end) || length <= LARGEST {
                (group.start, group.end) = (start, end);
                continue;
            }
        }
        available = true;
        groups.push(Group { first: slot, start: offset, end });
    }
    let mut groups = groups.into_iter().peekable();
    let mut current: Option<Group> = None;
    for slot in 0..program.insns.len() {
        if let Some(group) = groups.next_if(|group| group.first == slot) {
            current = Some(group);
        }
        let insn = &program.insns[slot];
        let load = matches!(insn.insn, Insn::Load { .. }) && !insn.skipped && insn.copy.is_none();
        if load
            && program.accesses_packet(slot)
            && let Some(Group { first, start, end }) = current
        {
            program.insns[slot].cache = Some(PacketCache { start, end, fetches: first == slot });
        }
    }
}

/// Returns true if the base registers of two loads have the same value.
fn same_base(program: &AnnotatedProgram<'_>, first: usize, second: usize) -> bool {
    let base = |slot: usize| match program.insns[slot].insn {
        Insn::Load { base, .. } => (slot, base.number()),
        _ => (slot, 10),
    };
    program.registers.packet_distance(base(first), base(second)) == Some(0)
}
