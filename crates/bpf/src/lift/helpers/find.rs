//! Finds helpers in the tables, by number and type of program.

use super::skb_table::{CGROUP_SKB, SKB_HELPERS, SOCKET_FILTER};
use super::table::{HELPERS, Helper, NETWORK, SOCKETS, TIMERS, XDP_ONLY};
use crate::ProgramKind;

/// Returns the table's entry for the helper `number` in programs of type `kind`; `None` if such
/// programs may not call it, or it is unsupported.
pub(in crate::lift) fn find(number: i32, kind: ProgramKind) -> Option<&'static Helper> {
    let row = |table: &'static [Helper]| {
        let index = table.binary_search_by_key(&number, |helper| helper.number).ok()?;
        Some(&table[index])
    };
    let (of_skb, denied): (Option<&[&[i32]]>, &[&[i32]]) = match kind {
        ProgramKind::SchedCls | ProgramKind::SchedAct => (None, &[XDP_ONLY]),
        ProgramKind::CgroupSkb => {
            (Some(&[SOCKET_FILTER, CGROUP_SKB]), &[XDP_ONLY, NETWORK, TIMERS])
        }
        ProgramKind::SocketFilter => {
            (Some(&[SOCKET_FILTER]), &[XDP_ONLY, NETWORK, SOCKETS, TIMERS])
        }
        _ => return row(HELPERS),
    };
    let in_one = |lists: &[&[i32]]| lists.iter().any(|list| list.contains(&number));
    row(SKB_HELPERS)
        .filter(|_| of_skb.is_none_or(in_one))
        .or_else(|| row(HELPERS).filter(|_| !in_one(denied)))
}

/// Returns true if programs of type `kind` may not call the helper `number`, but programs of
/// another type may. Always false for the helpers in [`TIMERS`].
pub(in crate::lift) fn is_of_other_type(number: i32, kind: ProgramKind) -> bool {
    let other = if kind.is_xdp() { ProgramKind::SchedCls } else { ProgramKind::Xdp };
    find(number, kind).is_none()
        && !TIMERS.contains(&number)
        && (find(number, other).is_some() || find(number, ProgramKind::SchedCls).is_some())
}
