//! Contains the table of helpers that only programs with a `struct __sk_buff` may call, or that
//! behave differently in XDP programs (`tc_cls_act_func_proto` of `net/core/filter.c`).

use super::table::{Helper, plain};
use super::{environment, skb, skb_fields};
use crate::insn::helper;

/// All supported helpers that only programs with a `struct __sk_buff` may call, or that behave
/// differently in XDP programs, sorted by number.
#[rustfmt::skip]
pub(in crate::lift) const SKB_HELPERS: &[Helper] = &[
    plain("bpf_skb_store_bytes", skb::store_bytes, "Exact for constant sizes, and for sizes limited by a buffer of at most 1,024 bytes. Fails for bytes behind the packet; otherwise it may fail with -EFAULT."),
    plain("bpf_l3_csum_replace", skb::l3_csum_replace, "The checksum gets any value; a path that depends on it relies on the model. Returns -EINVAL for wrong flags, and -EFAULT for odd offsets and bytes behind the packet; otherwise it may fail with -EFAULT."),
    plain("bpf_l4_csum_replace", skb::l4_csum_replace, "As bpf_l3_csum_replace."),
    plain("bpf_clone_redirect", skb::clone_redirect, "Returns -EINVAL for wrong flags, otherwise any result."),
    plain("bpf_get_cgroup_classid", skb_fields::number32, "Returns any 32-bit value."),
    plain("bpf_skb_vlan_push", skb::vlan_push, "Exact, but it may fail for packets that have a tag."),
    plain("bpf_skb_vlan_pop", skb::vlan_pop, "Exact, but it may fail for packets with a tag in their bytes. Some kernels keep the removed tag in `vlan_tci` and `vlan_proto`."),
    plain("bpf_skb_get_tunnel_key", skb_fields::tunnel_key, "Supported for constant sizes. Returns 0 and writes any key, or -EINVAL or -EPROTO and writes zeros."),
    plain("bpf_skb_set_tunnel_key", skb_fields::zero_or_invalid, "Returns 0 or -EINVAL."),
    plain("bpf_redirect", skb_fields::redirect, "Exact."),
    plain("bpf_get_route_realm", skb_fields::number32, "Returns any 32-bit value."),
    plain("bpf_skb_load_bytes", skb::load_bytes, "Exact for constant sizes, and for sizes limited by a buffer of at most 1,024 bytes. It may fail for bytes behind the linear part. It writes zeros if it fails."),
    plain("bpf_skb_get_tunnel_opt", skb_fields::tunnel_options, "Supported for constant sizes. Writes any bytes and returns their number, or -ENOENT or -ENOMEM and writes zeros."),
    plain("bpf_skb_set_tunnel_opt", skb_fields::set_tunnel_options, "Returns 0, -EINVAL or -ENOMEM."),
    plain("bpf_skb_change_proto", skb::change_proto, "Exact for lengths and the protocol. The first bytes get any values, and the call may fail."),
    plain("bpf_skb_change_type", skb_fields::change_type, "Exact."),
    plain("bpf_get_hash_recalc", skb_fields::recalculated_hash, "Returns any hash, which the field `hash` then contains."),
    plain("bpf_skb_change_tail", skb::change_tail, "Exact for the lengths. Returns -EINVAL for any flag; otherwise it may fail with -EINVAL, -ENOTSUPP, -ENOMEM or -EFAULT."),
    plain("bpf_skb_pull_data", skb::pull_data, "Exact. Fails with -ENOMEM for more bytes than the packet has; otherwise it may fail with -ENOMEM or -EFAULT."),
    plain("bpf_csum_update", skb_fields::csum_update, "Returns any 32-bit checksum, or -ENOTSUPP."),
    plain("bpf_set_hash_invalid", skb_fields::invalid_hash, "Exact."),
    plain("bpf_skb_change_head", skb::change_head, "Exact for constant lengths. Returns -EINVAL for any flag; otherwise it may fail with -EINVAL or -ENOMEM."),
    plain("bpf_get_socket_cookie", environment::any, "Returns any value."),
    plain("bpf_get_socket_uid", skb_fields::number32, "Returns any 32-bit value."),
    plain("bpf_set_hash", skb_fields::set_hash, "Exact."),
    plain("bpf_skb_adjust_room", skb::adjust_room, "Exact for the lengths, if the difference is constant. The first bytes get any values, and the call may fail."),
    plain("bpf_skb_load_bytes_relative", skb::load_bytes_relative, "Supported for constant sizes. Bytes after the network header get any values; a path that depends on them relies on the model."),
    plain("bpf_fib_lookup", skb_fields::fib_lookup, "As in XDP programs. With BPF_FIB_LKUP_RET_FRAG_NEEDED, all results may be written."),
    plain("bpf_skb_cgroup_id", environment::any, "Returns any value."),
    plain("bpf_skb_ancestor_cgroup_id", environment::any, "Returns any value."),
    plain("bpf_skb_ecn_set_ce", skb::set_congestion, "Returns 0 or 1. The first bytes get any values; a path that depends on them relies on the model."),
    plain("bpf_sk_assign", skb_fields::assign_socket, "Returns 0, -EINVAL, -ENOENT, -EOPNOTSUPP, -ENETUNREACH or -ESOCKTNOSUPPORT."),
    plain("bpf_csum_level", skb_fields::csum_level, "Returns 0, a level up to 3, -EACCES or -EINVAL."),
    plain("bpf_skb_cgroup_classid", skb_fields::number32, "Returns any 32-bit value."),
    plain("bpf_redirect_neigh", skb_fields::redirect_neigh, "Exact."),
    plain("bpf_redirect_peer", skb_fields::redirect_peer, "Exact."),
    plain("bpf_check_mtu", skb_fields::check_mtu, "Returns any result code, -EINVAL or -ENODEV, and writes any MTU."),
    plain("bpf_skb_set_tstamp", skb_fields::set_tstamp, "Returns 0, -EINVAL or -EOPNOTSUPP. Afterwards `tstamp` has any value."),
];

/// Numbers of the helpers in [`SKB_HELPERS`] that socket filters and cgroup_skb programs may call
/// (`sk_filter_func_proto`). In these programs, `bpf_get_cgroup_classid` returns the class of the
/// current task's cgroup (`bpf_base_func_proto`).
pub(in crate::lift) const SOCKET_FILTER: &[i32] = &[
    helper::number("bpf_get_cgroup_classid"),
    helper::number("bpf_skb_load_bytes"),
    helper::number("bpf_get_socket_cookie"),
    helper::number("bpf_get_socket_uid"),
    helper::number("bpf_skb_load_bytes_relative"),
];

/// Numbers of the helpers in [`SKB_HELPERS`] that cgroup_skb programs may call in addition to those
/// in [`SOCKET_FILTER`] (`cg_skb_func_proto`).
pub(in crate::lift) const CGROUP_SKB: &[i32] = &[
    helper::number("bpf_skb_cgroup_id"),
    helper::number("bpf_skb_ancestor_cgroup_id"),
    helper::number("bpf_skb_ecn_set_ce"),
];

#[cfg(test)]
mod tests {
    use super::SKB_HELPERS;

    #[test]
    fn rows_are_sorted_by_number() {
        assert!(SKB_HELPERS.is_sorted_by(|a, b| a.number < b.number));
    }
}
