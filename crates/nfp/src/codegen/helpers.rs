//! How many argument registers the kernel's helpers read that the card has.

use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, XDP_ADJUST_HEAD,
    XDP_ADJUST_TAIL,
};

/// How many argument registers a helper reads; of one that the card does not have, all.
pub(super) fn arguments(number: i32) -> u8 {
    match number {
        GET_PRANDOM_U32 => 0,
        MAP_LOOKUP_ELEM | MAP_DELETE_ELEM | XDP_ADJUST_HEAD | XDP_ADJUST_TAIL => 2,
        MAP_UPDATE_ELEM => 4,
        _ => 5,
    }
}
