//! Numbers of arguments of the helpers that the card supports.

use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, XDP_ADJUST_HEAD,
    XDP_ADJUST_TAIL,
};

/// Returns the number of argument registers that a helper reads; 5 for helpers that the card does
/// not have.
pub(super) fn arguments(number: i32) -> u8 {
    match number {
        GET_PRANDOM_U32 => 0,
        MAP_LOOKUP_ELEM | MAP_DELETE_ELEM | XDP_ADJUST_HEAD | XDP_ADJUST_TAIL => 2,
        MAP_UPDATE_ELEM => 4,
        _ => 5,
    }
}
