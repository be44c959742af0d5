//! Return codes of XDP programs.

/// The names of `enum xdp_action` (`include/uapi/linux/bpf.h`), by number.
pub const XDP_ACTIONS: [&str; 5] =
    ["XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"];
