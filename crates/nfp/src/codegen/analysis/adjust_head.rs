//! Finds calls that move the packet's start and cannot fail on the card (`nfp_record_adjust_head`
//! of the driver).

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::helper::XDP_ADJUST_HEAD;
use slowpath_bpf::insn::{Call, Insn};

use super::bounds::OperandBounds;
use crate::firmware::{ETHERNET_HEADER, MAX_HEAD_CUT, MAX_HEAD_GROWTH, MIN_FRAME};

/// Number of bytes that can be removed from the start of the shortest possible packet, and
/// therefore from every packet.
const ALWAYS_REMOVABLE: i32 = MIN_FRAME as i32 - ETHERNET_HEADER as i32;

/// Returns the index of the only call of `bpf_xdp_adjust_head` if the card needs no check for it.
/// Its distance must be a constant that is valid for every packet. Returns `None` if a check is
/// needed or the program does not contain exactly one such call.
pub(in crate::codegen) fn unchecked(
    program: &BpfProgram,
    live: &BTreeSet<usize>,
    bounds: &BTreeMap<usize, OperandBounds>,
) -> Option<usize> {
    let call = Insn::Call(Call::Helper(XDP_ADJUST_HEAD));
    let mut calls = live.iter().copied().filter(|&slot| program.insns.get(slot) == Some(&call));
    let (slot, None) = (calls.next()?, calls.next()) else { return None };
    // The helper takes a 32-bit distance.
    let distance = bounds.get(&slot)?.src?.as_constant()? as i32;
    let possible =
        distance <= ALWAYS_REMOVABLE && (-MAX_HEAD_GROWTH..=MAX_HEAD_CUT).contains(&distance);
    possible.then_some(slot)
}
