//! Replaces several loads of nearby packet bytes by one read of the packet
//! (`nfp_bpf_opt_pkt_cache`). The first load of such a group fetches all bytes of the group, at
//! most 64, into transfer registers.

use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::RegisterValue;

use crate::codegen::access::memory_operand;
use crate::codegen::annotated::{AnnotatedInsn, PacketCache};
use crate::codegen::facts::Facts;

/// Maximum number of packet bytes that one read fetches.
const LARGEST: i32 = 64;

/// A group of packet loads that share one read.
struct Group {
    /// Index of the instruction that loads first.
    first: usize,
    start: i16,
    end: i16,
}

pub(super) fn share(insns: &mut [AnnotatedInsn], facts: &dyn Facts) {
    let mut groups: Vec<Group> = Vec::new();
    // True while the transfer registers still hold the bytes that the last group fetches.
    let mut available = false;
    for (slot, insn) in insns.iter().enumerate() {
        available &= !insn.is_target;
        if insn.skipped {
            continue;
        }
        let (size, offset) = match insn.insn {
            Insn::Store { .. } if accesses_packet(facts, slot, insn) => {
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
        if !accesses_packet(facts, slot, insn) || insn.copy.is_some() {
            available = false;
            continue;
        }
        let end = offset.saturating_add(size);
        if available
            && let Some(group) = groups.last_mut()
            && same_base(insns, facts, group.first, slot)
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
    for (slot, insn) in insns.iter_mut().enumerate() {
        if let Some(group) = groups.next_if(|group| group.first == slot) {
            current = Some(group);
        }
        let load = matches!(insn.insn, Insn::Load { .. }) && !insn.skipped && insn.copy.is_none();
        if load
            && accesses_packet(facts, slot, insn)
            && let Some(Group { first, start, end }) = current
        {
            insn.cache = Some(PacketCache { start, end, fetches: first == slot });
        }
    }
}

/// Returns true if the base registers of two loads are known to have the same value.
fn same_base(insns: &[AnnotatedInsn], facts: &dyn Facts, first: usize, second: usize) -> bool {
    let base = |slot: usize| Some((slot, memory_operand(&insns[slot].insn)?.0));
    let (Some(first), Some(second)) = (base(first), base(second)) else { return false };
    facts.packet_distance(first, second) == Some(0)
}

/// Returns true if the base register of a memory access points into the packet.
fn accesses_packet(facts: &dyn Facts, slot: usize, insn: &AnnotatedInsn) -> bool {
    memory_operand(&insn.insn)
        .is_some_and(|(base, _)| facts.value(slot, base) == RegisterValue::Packet)
}
