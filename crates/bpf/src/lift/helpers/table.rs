//! Contains the table of helpers, with the function that lifts the calls of each helper.

use super::{
    checksum, cookies, environment, map, output, packet, queue, ring, routing, socket, text,
};
use crate::insn::helper::{self};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::lifter::Lifter;

/// The way in which calls of a helper are lifted.
#[derive(Clone, Copy)]
pub(in crate::lift) enum Lift {
    /// A function that lifts the call: it sets `r0` and applies the helper's effects.
    Plain(fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>),
    /// The call becomes a loop around a callback.
    Loop,
    /// The call becomes a jump to another program.
    TailCall,
}

/// An entry of the table of helpers: the helper's number, the way to lift its calls, and a note for
/// the documentation.
pub(in crate::lift) struct Helper {
    pub number: i32,
    pub lift: Lift,
    pub note: &'static str,
}

pub(super) const fn plain(
    name: &str,
    lift: fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>,
    note: &'static str,
) -> Helper {
    Helper { number: helper::number(name), lift: Lift::Plain(lift), note }
}

/// Numbers of the helpers for timers. Timer callbacks can interrupt programs of those types that
/// run while interrupts are enabled. slowpath does not support timers in such programs.
pub(in crate::lift) const TIMERS: &[i32] = &[
    helper::number("bpf_timer_init"),
    helper::number("bpf_timer_set_callback"),
    helper::number("bpf_timer_start"),
    helper::number("bpf_timer_cancel"),
];

/// All supported helpers, sorted by number.
#[rustfmt::skip]
pub(in crate::lift) const HELPERS: &[Helper] = &[
    plain("bpf_map_lookup_elem", map::lookup, "Returns null or the value of the element. The same key finds the same element."),
    plain("bpf_map_update_elem", map::update, "Exact, including the flags. The table of calls on maps has the details."),
    plain("bpf_map_delete_elem", map::delete, "Exact."),
    plain("bpf_ktime_get_ns", environment::clock, "Returns any time that is not earlier than the last returned time."),
    plain("bpf_trace_printk", output::printed, "Returns any length, -EINVAL, -EBUSY or -ENOSPC."),
    plain("bpf_get_prandom_u32", environment::random, "Returns any 32-bit value."),
    plain("bpf_get_smp_processor_id", environment::processor, "Returns any number below 8192, which stays the same during a run."),
    Helper { number: helper::TAIL_CALL, lift: Lift::TailCall, note: "slowpath follows the call if it knows the program in the slot. Otherwise it assumes that the path ends there, and the result lists this assumption." },
    plain("bpf_redirect", routing::redirect, "Exact."),
    plain("bpf_perf_event_output", output::perf_output, "Returns -EINVAL for wrong flags, -EFAULT for more bytes than the packet has, and -E2BIG for an index outside the map. Otherwise it returns 0 or an error that depends on the reader: -ENOENT, -E2BIG, -EBUSY, -EINVAL, -ENOSPC or -EOPNOTSUPP."),
    plain("bpf_csum_diff", checksum::diff, "Exact for constant sizes, and for sizes limited by a small buffer. For other sizes it returns any sum of 16 bits, and a path that depends on the sum relies on the model. The sums are those of Linux 6.13 and later, which fold to 16 bits and accept any size."),
    plain("bpf_get_numa_node_id", environment::numa_node, "Returns any number below 1024, which stays the same during a run."),
    plain("bpf_xdp_adjust_head", packet::adjust_head, "Exact for the head room of the packet."),
    plain("bpf_redirect_map", map::redirect, "Exact. If slowpath does not know the map's content, the element may exist or not."),
    plain("bpf_xdp_adjust_meta", packet::adjust_meta, "Exact for the head room of the packet. Returns -ENOTSUPP if the driver does not support metadata."),
    plain("bpf_xdp_adjust_tail", packet::adjust_tail, "Exact for the tail room of the packet, and for packets in one piece."),
    plain("bpf_fib_lookup", routing::fib_lookup, "Returns -EINVAL for wrong flags and sizes, and -EAFNOSUPPORT for unknown address families. Otherwise it returns any result code or -ENODEV. The fields that the kernel writes for this code get any values. The other fields keep their values."),
    plain("bpf_sk_lookup_tcp", socket::look_up, "Returns null or a socket with any content. Returns null for any flag, for wrong sizes, and for network namespaces that do not exist."),
    plain("bpf_sk_lookup_udp", socket::look_up, "Returns null or a socket with any content. Returns null for any flag, for wrong sizes, and for network namespaces that do not exist."),
    plain("bpf_sk_release", environment::nothing, "Has no effect that the program can notice."),
    plain("bpf_map_push_elem", queue::push, "Exact. Returns -E2BIG if the map is full and the flag BPF_EXIST is not set. Returns -EINVAL for other flags."),
    plain("bpf_map_pop_elem", queue::pop, "Exact. Removes and returns the oldest element of a queue, or the newest element of a stack. If the map is empty, it clears the value and returns -ENOENT."),
    plain("bpf_map_peek_elem", queue::peek, "As bpf_map_pop_elem, but the element stays in the map."),
    plain("bpf_spin_lock", environment::nothing, "Until the program unlocks it, other CPUs do not change values of the map."),
    plain("bpf_spin_unlock", environment::nothing, "After the call, other CPUs may change values of the map again."),
    plain("bpf_sk_fullsock", socket::object, "Returns null or the same socket."),
    plain("bpf_tcp_sock", socket::object, "Returns null or the same socket."),
    plain("bpf_get_listener_sock", socket::object, "Returns null or a socket with any content."),
    plain("bpf_skc_lookup_tcp", socket::look_up, "Returns null or a socket with any content. Returns null for any flag, for wrong sizes, and for network namespaces that do not exist."),
    plain("bpf_tcp_check_syncookie", cookies::check, "Returns 0, -ENOENT, -EINVAL or -EPROTONOSUPPORT. Kernels without SYN cookies return -EOPNOTSUPP or -ENOTSUPP."),
    plain("bpf_tcp_gen_syncookie", cookies::make, "Returns any SYN cookie with a segment size, or an error of bpf_tcp_check_syncookie."),
    plain("bpf_probe_read_kernel", output::probe_read, "Supported for constant sizes. Returns 0 and writes any bytes, or returns -EFAULT, -ERANGE or -EPERM and writes zeros."),
    plain("bpf_jiffies64", environment::jiffies, "Returns any number that is not smaller than the last returned number."),
    plain("bpf_ktime_get_boot_ns", environment::clock, "Returns any time that is not earlier than the last returned time."),
    plain("bpf_ringbuf_output", ring::output, "Returns 0, or -EAGAIN if the ring buffer has no room. Returns -EAGAIN in any case for more bytes than the ring buffer holds, and -EINVAL for unknown flags."),
    plain("bpf_ringbuf_reserve", ring::reserve, "Returns a record with any content, or null if the ring buffer has no room. Returns null in any case for more bytes than the ring buffer holds, and with any flag."),
    plain("bpf_ringbuf_submit", environment::nothing, "Has no effect that the program can notice."),
    plain("bpf_ringbuf_discard", environment::nothing, "Has no effect that the program can notice."),
    plain("bpf_ringbuf_query", ring::query, "Returns the size of the ring buffer, an amount of data up to this size, or any position. Returns 0 for other flags."),
    plain("bpf_ktime_get_coarse_ns", environment::clock, "Returns any time that is not earlier than the last returned time."),
    plain("bpf_check_mtu", routing::check_mtu, "Exact for a device with any MTU and any header length. The device may not exist."),
    Helper { number: helper::FOR_EACH_MAP_ELEM, lift: Lift::Loop, note: "Calls the callback once for each element." },
    plain("bpf_snprintf", output::snprintf, "Supported for constant sizes. Writes any text and returns any length; a path that depends on them relies on the model. Or writes no text and returns -EINVAL, -EBUSY or -ENOSPC."),
    plain("bpf_timer_init", environment::timer_init, "Returns 0, -EBUSY, -EINVAL, -EPERM, -ENOMEM or -EOPNOTSUPP. Not supported in programs of cgroups and sockets."),
    plain("bpf_timer_set_callback", environment::timer_set_callback, "Returns 0, -EINVAL, -EPERM or -EOPNOTSUPP."),
    plain("bpf_timer_start", environment::timer_start, "Returns 0, -EINVAL or -EOPNOTSUPP. Callbacks run between packets, and their work is not counted."),
    plain("bpf_timer_cancel", environment::timer_cancel, "Returns 0, 1, -EINVAL, -EDEADLK, -EOPNOTSUPP or -ECANCELED."),
    plain("bpf_trace_vprintk", output::printed, "Returns any length, -EINVAL, -EBUSY or -ENOSPC."),
    Helper { number: helper::LOOP, lift: Lift::Loop, note: "Exact, for one callback or several. The verifier replaces the call by instructions if the flags are the constant 0 and all paths use the same callback. These instructions return the 64-bit number 4294967289 for more than 8,388,608 iterations, as an error." },
    plain("bpf_strncmp", text::compare, "Exact for constant sizes. For other sizes, it returns any number, and a path that depends on it relies on the model."),
    plain("bpf_xdp_get_buff_len", packet::length, "Exact for packets in one piece."),
    plain("bpf_xdp_load_bytes", packet::load_bytes, "Exact for constant sizes, and for sizes limited by a buffer of at most 256 bytes."),
    plain("bpf_xdp_store_bytes", packet::store_bytes, "Exact for constant sizes, and for sizes limited by a buffer of at most 256 bytes."),
    plain("bpf_tcp_raw_gen_syncookie_ipv4", cookies::make, "Returns any SYN cookie with a segment size, or an error of bpf_tcp_check_syncookie."),
    plain("bpf_tcp_raw_gen_syncookie_ipv6", cookies::make, "Returns any SYN cookie with a segment size, or an error of bpf_tcp_check_syncookie."),
    plain("bpf_tcp_raw_check_syncookie_ipv4", cookies::check_raw, "Returns 0 or -EACCES. Kernels without SYN cookies return -EPROTONOSUPPORT or -EOPNOTSUPP."),
    plain("bpf_tcp_raw_check_syncookie_ipv6", cookies::check_raw, "Returns 0 or -EACCES. Kernels without SYN cookies return -EPROTONOSUPPORT or -EOPNOTSUPP."),
    plain("bpf_ktime_get_tai_ns", environment::any, "Returns any time."),
];

/// Numbers of the helpers in [`HELPERS`] that only XDP programs may call (`xdp_func_proto`,
/// `tc_cls_act_func_proto` of `net/core/filter.c`).
pub(in crate::lift) const XDP_ONLY: &[i32] = &[
    helper::XDP_ADJUST_HEAD,
    helper::XDP_ADJUST_META,
    helper::XDP_ADJUST_TAIL,
    helper::XDP_GET_BUFF_LEN,
    helper::XDP_LOAD_BYTES,
    helper::XDP_STORE_BYTES,
    helper::REDIRECT_MAP,
];

/// Numbers of the helpers in [`HELPERS`] for sockets. Socket filters may not call them
/// (`sk_filter_func_proto`).
pub(in crate::lift) const SOCKETS: &[i32] = &[
    helper::number("bpf_sk_lookup_tcp"),
    helper::number("bpf_sk_lookup_udp"),
    helper::number("bpf_sk_release"),
    helper::number("bpf_sk_fullsock"),
    helper::number("bpf_tcp_sock"),
    helper::number("bpf_get_listener_sock"),
    helper::number("bpf_skc_lookup_tcp"),
];

/// Numbers of the helpers in [`HELPERS`] that neither socket filters nor cgroup_skb programs may
/// call (`sk_filter_func_proto`, `cg_skb_func_proto`).
pub(in crate::lift) const NETWORK: &[i32] = &[
    helper::number("bpf_redirect"),
    helper::number("bpf_csum_diff"),
    helper::number("bpf_fib_lookup"),
    helper::number("bpf_check_mtu"),
    helper::number("bpf_tcp_check_syncookie"),
    helper::number("bpf_tcp_gen_syncookie"),
    helper::number("bpf_tcp_raw_gen_syncookie_ipv4"),
    helper::number("bpf_tcp_raw_gen_syncookie_ipv6"),
    helper::number("bpf_tcp_raw_check_syncookie_ipv4"),
    helper::number("bpf_tcp_raw_check_syncookie_ipv6"),
];
