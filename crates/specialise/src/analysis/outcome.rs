//! Calls of helpers that cannot fail, for what is known of the packet's length.
//!
//! Only that a call succeeds is told, and only where nothing else can make it fail (`net/core/filter.c`
//! of Linux 6.18). Moving an end of the packet outwards is not among it: how much room there is, and
//! whether there is any for metadata, is the driver's choice, and no program can ask for it.

use super::reason::Reason;
use super::state::State;
use crate::fault::{self, Fault};
use slowpath_bpf::insn::helper;

/// Bytes that a packet keeps, `ETH_HLEN`.
const ETH_HLEN: i64 = 14;
/// Largest offset that `bpf_xdp_pointer` takes.
const OFFSET_MAX: i64 = 0xffff;

/// What it rests on that a call of a helper returns 0; `None` if it may return something else. The
/// state is that before the call.
pub(super) fn succeeds(state: &State, number: i32) -> Option<Reason> {
    let argument = |reg: usize| state.regs[reg].constant().map(|value| value as u32);
    let reasons =
        |regs: &[usize]| regs.iter().fold(Reason::NONE, |all, &reg| all | state.regs[reg].reason);
    // The start of metadata is no further in front than it is allowed to be, and follows.
    let (needed, regs): (i64, &[usize]) = match number {
        helper::XDP_ADJUST_HEAD => {
            let by = i64::from(argument(2)? as i32);
            ((by >= 0).then_some(ETH_HLEN + by)?, &[2])
        }
        // By 0, packets in several pieces are refused by drivers that cannot let them grow.
        helper::XDP_ADJUST_TAIL => {
            let by = i64::from(argument(2)? as i32);
            ((by < 0).then_some(ETH_HLEN - by)?, &[2])
        }
        helper::XDP_LOAD_BYTES | helper::XDP_STORE_BYTES => {
            let (offset, bytes) = (i64::from(argument(2)?), i64::from(argument(4)?));
            ((offset.max(bytes) <= OFFSET_MAX).then_some(offset + bytes)?, &[2, 4])
        }
        _ => return None,
    };
    let least = state.length.0 + i64::from(fault::has(Fault::SuccessTooSoon));
    (needed <= least).then(|| state.length_reasons.0 | reasons(regs))
}

#[cfg(test)]
mod tests;
