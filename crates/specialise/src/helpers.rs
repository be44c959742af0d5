//! What helpers of the kernel read and change, as far as rewriting has to know: how many arguments
//! they take, and whether the packet and the stack are afterwards what they were before.
//!
//! Source: `struct bpf_func_proto` of each, and `bpf_helper_changes_pkt_data` of
//! `net/core/filter.c`, Linux 6.18. A helper that is not listed may do anything.

use slowpath_bpf::insn::helper_name;

/// What a helper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// How many of `r1` to `r5` it reads.
    pub arguments: u8,
    /// Whether it may write through pointers that it is given.
    pub writes: bool,
    /// Whether pointers into the packet are invalid afterwards.
    pub moves_packet: bool,
    /// Whether it gives the address of an element of a map, or null.
    pub finds: bool,
}

/// What is taken for granted of a helper that is not listed, and of functions.
pub(crate) const UNKNOWN: Effect =
    Effect { arguments: 5, writes: true, moves_packet: true, finds: false };

/// What the helper with this number does.
pub(crate) fn effect(number: i32) -> Effect {
    let Some(name) = helper_name(number) else { return UNKNOWN };
    let reads = |arguments| Effect { arguments, writes: false, moves_packet: false, finds: false };
    match name {
        "bpf_map_lookup_elem" | "bpf_map_lookup_percpu_elem" => {
            Effect { finds: true, ..reads(if name == "bpf_map_lookup_elem" { 2 } else { 3 }) }
        }
        "bpf_map_update_elem" => reads(4),
        "bpf_map_delete_elem" => reads(2),
        "bpf_ktime_get_ns"
        | "bpf_ktime_get_boot_ns"
        | "bpf_ktime_get_coarse_ns"
        | "bpf_ktime_get_tai_ns"
        | "bpf_jiffies64"
        | "bpf_get_prandom_u32"
        | "bpf_get_smp_processor_id"
        | "bpf_get_numa_node_id" => reads(0),
        "bpf_redirect" => reads(2),
        "bpf_redirect_map" => reads(3),
        "bpf_csum_diff" => reads(5),
        "bpf_trace_printk" | "bpf_perf_event_output" => reads(5),
        "bpf_ringbuf_output" => reads(4),
        "bpf_xdp_get_buff_len" => reads(1),
        "bpf_fib_lookup" => Effect { writes: true, ..reads(4) },
        "bpf_xdp_load_bytes" => Effect { writes: true, ..reads(4) },
        "bpf_xdp_adjust_head" | "bpf_xdp_adjust_tail" | "bpf_xdp_adjust_meta" => {
            Effect { moves_packet: true, ..reads(2) }
        }
        _ => UNKNOWN,
    }
}
