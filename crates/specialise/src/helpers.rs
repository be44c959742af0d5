//! Describes the effects of kernel helpers that matter for rewriting: the number of arguments,
//! moves of the packet, and writes to memory through pointers.
//!
//! Source: `struct bpf_func_proto` of each helper, and `bpf_helper_changes_pkt_data` of
//! `net/core/filter.c`, Linux 6.18. A helper that is not in the list may have all effects.

use slowpath_bpf::insn::helper_name;

/// The effects of a helper that matter for rewriting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Number of argument registers that the helper reads, counted from `r1` (0 to 5).
    pub arguments: u8,
    /// True if the helper may write to memory through its arguments.
    pub writes: bool,
    /// True if a call can change the packet's buffer, which makes pointers into the packet invalid.
    pub moves_packet: bool,
    /// True if the helper returns the address of a map element, or null if it finds none.
    pub returns_element: bool,
}

/// The effects that are assumed for calls of unlisted helpers and of functions of the program.
pub(crate) const UNKNOWN: Effect =
    Effect { arguments: 5, writes: true, moves_packet: true, returns_element: false };

/// Returns the effects of the helper with this number in `enum bpf_func_id`.
pub(crate) fn effect(number: i32) -> Effect {
    let Some(name) = helper_name(number) else { return UNKNOWN };
    let reads = |arguments| Effect {
        arguments,
        writes: false,
        moves_packet: false,
        returns_element: false,
    };
    match name {
        "bpf_map_lookup_elem" | "bpf_map_lookup_percpu_elem" => Effect {
            returns_element: true,
            ..reads(if name == "bpf_map_lookup_elem" { 2 } else { 3 })
        },
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
