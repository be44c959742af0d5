"""Helpers of the kernel by number: those that are in `headers/nic/xdp.c`, and others.

Source: `___BPF_FUNC_MAPPER` in include/uapi/linux/bpf.h.
"""

HERE = {
    1: "bpf_map_lookup_elem",
    2: "bpf_map_update_elem",
    3: "bpf_map_delete_elem",
    5: "bpf_ktime_get_ns",
    6: "bpf_trace_printk",
    7: "bpf_get_prandom_u32",
    8: "bpf_get_smp_processor_id",
    12: "bpf_tail_call",
    23: "bpf_redirect",
    25: "bpf_perf_event_output",
    28: "bpf_csum_diff",
    42: "bpf_get_numa_node_id",
    44: "bpf_xdp_adjust_head",
    51: "bpf_redirect_map",
    54: "bpf_xdp_adjust_meta",
    65: "bpf_xdp_adjust_tail",
    87: "bpf_map_push_elem",
    88: "bpf_map_pop_elem",
    89: "bpf_map_peek_elem",
    93: "bpf_spin_lock",
    94: "bpf_spin_unlock",
    118: "bpf_jiffies64",
    125: "bpf_ktime_get_boot_ns",
    130: "bpf_ringbuf_output",
    131: "bpf_ringbuf_reserve",
    132: "bpf_ringbuf_submit",
    133: "bpf_ringbuf_discard",
    134: "bpf_ringbuf_query",
    160: "bpf_ktime_get_coarse_ns",
    164: "bpf_for_each_map_elem",
    177: "bpf_trace_vprintk",
    181: "bpf_loop",
    188: "bpf_xdp_get_buff_len",
    189: "bpf_xdp_load_bytes",
    190: "bpf_xdp_store_bytes",
    195: "bpf_map_lookup_percpu_elem",
    208: "bpf_ktime_get_tai_ns",
}
_OTHERS = {
    69: "bpf_fib_lookup",
    84: "bpf_sk_lookup_tcp",
    85: "bpf_sk_lookup_udp",
    86: "bpf_sk_release",
    99: "bpf_skc_lookup_tcp",
    100: "bpf_tcp_check_syncookie",
    110: "bpf_tcp_gen_syncookie",
    163: "bpf_check_mtu",
    169: "bpf_timer_init",
    170: "bpf_timer_set_callback",
    171: "bpf_timer_start",
}


def name_of(number: int) -> str:
    """How a helper is called."""
    return HERE.get(number) or _OTHERS.get(number) or f"helper {number} of the kernel"


def known() -> str:
    """Those that are here, as people read it."""
    return ", ".join(name.removeprefix("bpf_") for name in HERE.values())
