//! Contains the table of helpers, with the function that lifts the calls of each helper.

use super::{checksum, cookies, environment, map, output, packet, queue, ring, routing, socket};
use crate::insn::helper::{self};
use crate::lift::error::Cause;
use crate::lift::frame::ProgramPoint;
use crate::lift::lifter::Lifter;

/// The way in which calls of a helper are lifted.
#[derive(Clone, Copy)]
pub(in crate::lift) enum Lift {
    /// This function sets `r0` and applies the helper's effects.
    Plain(fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>),
    /// The call becomes a loop around a callback.
    Loop,
    /// The call becomes a jump to another program.
    TailCall,
    /// Calls are not supported, for the reason that this text gives.
    Refused(&'static str),
}

/// An entry of the table of helpers: a helper's number, the way to lift its calls, and a note for
/// the documentation.
pub(in crate::lift) struct Helper {
    pub number: i32,
    pub lift: Lift,
    pub note: &'static str,
}

const fn plain(
    name: &str,
    lift: fn(&mut Lifter<'_>, ProgramPoint) -> Result<(), Cause>,
    note: &'static str,
) -> Helper {
    Helper { number: helper::number(name), lift: Lift::Plain(lift), note }
}

const fn refused(name: &str, reason: &'static str) -> Helper {
    Helper { number: helper::number(name), lift: Lift::Refused(reason), note: reason }
}

/// All supported helpers, and the unsupported ones with a known reason, sorted by number.
#[rustfmt::skip]
pub(in crate::lift) const HELPERS: &[Helper] = &[
    plain("bpf_map_lookup_elem", map::lookup, "null or the element's value; the same key finds the same element"),
    plain("bpf_map_update_elem", map::update, "exact, with the flags; see the table of calls on maps"),
    plain("bpf_map_delete_elem", map::delete, "exact"),
    plain("bpf_ktime_get_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_trace_printk", output::printed, "any length, or -EINVAL, -EBUSY, -ENOSPC"),
    plain("bpf_get_prandom_u32", environment::random, "any 32-bit value"),
    plain("bpf_get_smp_processor_id", environment::processor, "any number below 8192, the same in one run"),
    Helper { number: helper::TAIL_CALL, lift: Lift::TailCall, note: "slots that are known are followed; else the path may end there, which is listed as an assumption" },
    plain("bpf_redirect", routing::redirect, "exact"),
    plain("bpf_perf_event_output", output::perf_output, "-EINVAL for wrong flags, -EFAULT for more than the packet, -E2BIG for an index beyond the map; else 0, or an error for who listens: -ENOENT, -E2BIG, -EBUSY, -EINVAL, -ENOSPC, -EOPNOTSUPP"),
    plain("bpf_csum_diff", checksum::diff, "exact as of Linux 6.13, which folds the sum to 16 bits and takes any size; for sizes that are neither constant nor bounded by a small buffer any such sum, which a path that depends on it relies on"),
    plain("bpf_get_numa_node_id", environment::numa_node, "any number below 1024, the same in one run"),
    plain("bpf_xdp_adjust_head", packet::adjust_head, "exact, for the head room that there is"),
    plain("bpf_redirect_map", map::redirect, "exact; whether there is an element is open unless known"),
    plain("bpf_xdp_adjust_meta", packet::adjust_meta, "exact, for the head room that there is; -ENOTSUPP where the driver does not support metadata"),
    plain("bpf_xdp_adjust_tail", packet::adjust_tail, "exact, for the tail room that there is, of packets in one piece"),
    plain("bpf_fib_lookup", routing::fib_lookup, "-EINVAL for wrong flags and sizes, -EAFNOSUPPORT for other families; else any result code or -ENODEV; the fields that are written for the code are anything, the others stay"),
    plain("bpf_sk_lookup_tcp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_sk_lookup_udp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_sk_release", environment::nothing, "no effect that the program sees"),
    plain("bpf_map_push_elem", queue::push, "exact: E2BIG if there is no room, unless BPF_EXIST makes some; EINVAL for other flags"),
    plain("bpf_map_pop_elem", queue::pop, "exact: the oldest element of a queue, the newest of a stack; ENOENT, and the value is cleared, if there is none"),
    plain("bpf_map_peek_elem", queue::peek, "as bpf_map_pop_elem; the element stays"),
    plain("bpf_spin_lock", environment::nothing, "other CPUs change no value of the map until it is unlocked"),
    plain("bpf_spin_unlock", environment::nothing, "other CPUs may change values of the map again"),
    plain("bpf_sk_fullsock", socket::object, "null or the same socket"),
    plain("bpf_tcp_sock", socket::object, "null or the same socket"),
    plain("bpf_get_listener_sock", socket::object, "null or a socket with any content"),
    plain("bpf_skc_lookup_tcp", socket::look_up, "null or a socket with any content; null for flags, other sizes and name spaces that do not exist"),
    plain("bpf_tcp_check_syncookie", cookies::check, "0, -ENOENT, -EINVAL, -EPROTONOSUPPORT; -EOPNOTSUPP or -ENOTSUPP without cookies in the kernel"),
    plain("bpf_tcp_gen_syncookie", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_probe_read_kernel", output::probe_read, "0 and anything, or -EFAULT, -ERANGE, -EPERM and zeros, for constant sizes"),
    plain("bpf_jiffies64", environment::jiffies, "any number, not before the one returned last"),
    plain("bpf_ktime_get_boot_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_ringbuf_output", ring::output, "0, EAGAIN if there is no room (always for more than the ring holds), EINVAL for unknown flags"),
    plain("bpf_ringbuf_reserve", ring::reserve, "a record with any content, or null if there is no room (always for more than the ring holds) or with flags"),
    plain("bpf_ringbuf_submit", environment::nothing, "no effect that the program sees"),
    plain("bpf_ringbuf_discard", environment::nothing, "no effect that the program sees"),
    plain("bpf_ringbuf_query", ring::query, "the size of the ring; no more data than that; any positions; 0 for other flags"),
    plain("bpf_ktime_get_coarse_ns", environment::clock, "any time, not before the one returned last"),
    plain("bpf_check_mtu", routing::check_mtu, "exact for a device with any MTU and length of header, which may not exist"),
    Helper { number: helper::FOR_EACH_MAP_ELEM, lift: Lift::Loop, note: "one round for every element" },
    plain("bpf_snprintf", output::snprintf, "any text and length, which a path that depends on them relies on; or -EINVAL, -EBUSY, -ENOSPC and no text; for constant sizes"),
    refused("bpf_timer_init", "timers run outside of the packet's path"),
    refused("bpf_timer_set_callback", "timers run outside of the packet's path"),
    refused("bpf_timer_start", "timers run outside of the packet's path"),
    refused("bpf_timer_cancel", "timers run outside of the packet's path"),
    plain("bpf_trace_vprintk", output::printed, "any length, or -EINVAL, -EBUSY, -ENOSPC"),
    Helper { number: helper::LOOP, lift: Lift::Loop, note: "exact, with one callback or several, as the instructions that the verifier puts in its place where the flags are the constant zero and the callback is the same on all paths: of more than 8,388,608 rounds, looked at with 64 bits, the error is the number 4294967289" },
    plain("bpf_xdp_get_buff_len", packet::length, "exact, for packets in one piece"),
    plain("bpf_xdp_load_bytes", packet::load_bytes, "exact, for sizes that are constant or bounded by a buffer of at most 256 bytes"),
    plain("bpf_xdp_store_bytes", packet::store_bytes, "exact, for sizes that are constant or bounded by a buffer of at most 256 bytes"),
    plain("bpf_tcp_raw_gen_syncookie_ipv4", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_tcp_raw_gen_syncookie_ipv6", cookies::make, "any cookie with a segment size, or an error as of bpf_tcp_check_syncookie"),
    plain("bpf_tcp_raw_check_syncookie_ipv4", cookies::check_raw, "0 or -EACCES; -EPROTONOSUPPORT or -EOPNOTSUPP without cookies in the kernel"),
    plain("bpf_tcp_raw_check_syncookie_ipv6", cookies::check_raw, "0 or -EACCES; -EPROTONOSUPPORT or -EOPNOTSUPP without cookies in the kernel"),
    plain("bpf_ktime_get_tai_ns", environment::any, "any time"),
];

/// Returns the table's entry for the helper with this number.
pub(in crate::lift) fn find(number: i32) -> Option<&'static Helper> {
    let index = HELPERS.binary_search_by_key(&number, |helper| helper.number).ok()?;
    Some(&HELPERS[index])
}
