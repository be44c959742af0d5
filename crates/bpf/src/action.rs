//! The return codes of XDP programs, which tell the kernel to drop, pass on or send a packet.

/// The names of the XDP return codes (`enum xdp_action` of `include/uapi/linux/bpf.h`). The index
/// of a name is its code.
pub const XDP_ACTIONS: [&str; 5] =
    ["XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"];
