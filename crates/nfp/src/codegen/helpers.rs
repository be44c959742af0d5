//! Lists the kernel's helpers: how many arguments they have, the kinds of their results, and
//! whether the SmartNIC supports them.

use slowpath_bpf::insn::helper::{
    CSUM_DIFF, GET_PRANDOM_U32, KTIME_GET_NS, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM,
    PERF_EVENT_OUTPUT, REDIRECT, REDIRECT_MAP, XDP_ADJUST_HEAD, XDP_ADJUST_META, XDP_ADJUST_TAIL,
    number,
};

const PROBE_READ: i32 = number("bpf_probe_read");
const GET_SMP_PROCESSOR_ID: i32 = number("bpf_get_smp_processor_id");
const FIB_LOOKUP: i32 = number("bpf_fib_lookup");

/// Returns the number of argument registers that a helper reads. Returns 5 for helpers that the
/// SmartNIC does not support.
pub(super) fn arguments(number: i32) -> u8 {
    match number {
        GET_PRANDOM_U32 => 0,
        MAP_LOOKUP_ELEM | MAP_DELETE_ELEM | XDP_ADJUST_HEAD | XDP_ADJUST_TAIL => 2,
        MAP_UPDATE_ELEM => 4,
        _ => 5,
    }
}

/// Returns true if the SmartNIC supports the helper.
pub(super) fn is_on_card(number: i32) -> bool {
    number == PERF_EVENT_OUTPUT || arguments(number) < 5
}

/// Returns true if a helper returns a number, such as a time, an error or a verdict. Other helpers
/// may return a pointer.
pub(super) fn returns_number(number: i32) -> bool {
    matches!(
        number,
        MAP_UPDATE_ELEM
            | MAP_DELETE_ELEM
            | PROBE_READ
            | KTIME_GET_NS
            | GET_PRANDOM_U32
            | GET_SMP_PROCESSOR_ID
            | REDIRECT
            | PERF_EVENT_OUTPUT
            | CSUM_DIFF
            | XDP_ADJUST_HEAD
            | REDIRECT_MAP
            | XDP_ADJUST_META
            | XDP_ADJUST_TAIL
            | FIB_LOOKUP
    )
}
