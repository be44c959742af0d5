//! Lists the GPL-compatible licenses, and the calls that the kernel allows only under such a
//! license.
//!
//! Sources: `license_is_gpl_compatible` in `include/linux/license.h`; `gpl_only` in `struct
//! bpf_func_proto` of each helper for XDP programs; `add_kfunc_call` in `kernel/bpf/verifier.c`
//! (Linux 6.18). A test compares each helper with the running kernel.

use crate::BpfProgram;
use crate::insn::helper::{helper_name, number};
use crate::insn::{Call, Insn};

/// Licenses that the kernel accepts as GPL-compatible.
pub const GPL_COMPATIBLE: [&str; 6] =
    ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// Numbers of the helpers for XDP programs that require a GPL-compatible license.
#[rustfmt::skip]
pub const GPL_ONLY: [i32; 27] = [
    number("bpf_trace_printk"),
    number("bpf_perf_event_read"),
    number("bpf_perf_event_output"),
    number("bpf_get_current_task"),
    number("bpf_perf_event_read_value"),
    number("bpf_fib_lookup"),
    number("bpf_tcp_check_syncookie"),
    number("bpf_tcp_gen_syncookie"),
    number("bpf_probe_read_user"),
    number("bpf_probe_read_kernel"),
    number("bpf_probe_read_user_str"),
    number("bpf_probe_read_kernel_str"),
    number("bpf_get_current_task_btf"),
    number("bpf_check_mtu"),
    number("bpf_snprintf"),
    number("bpf_timer_init"),
    number("bpf_timer_set_callback"),
    number("bpf_timer_start"),
    number("bpf_timer_cancel"),
    number("bpf_task_pt_regs"),
    number("bpf_get_branch_snapshot"),
    number("bpf_trace_vprintk"),
    number("bpf_copy_from_user_task"),
    number("bpf_tcp_raw_gen_syncookie_ipv4"),
    number("bpf_tcp_raw_gen_syncookie_ipv6"),
    number("bpf_tcp_raw_check_syncookie_ipv4"),
    number("bpf_tcp_raw_check_syncookie_ipv6"),
];

/// Returns true if the kernel accepts a license as GPL-compatible.
pub fn is_gpl_compatible(license: &str) -> bool {
    GPL_COMPATIBLE.contains(&license)
}

/// Returns the name of the first helper or kernel function in the program's code whose call
/// requires a GPL-compatible license. Every kernel function requires one.
pub fn gpl_only_call(program: &BpfProgram) -> Option<&str> {
    program.insns.iter().find_map(|insn| match insn {
        Insn::Call(Call::Helper(helper)) if GPL_ONLY.contains(helper) => helper_name(*helper),
        Insn::Call(Call::Kfunc { id, .. }) => {
            let name = usize::try_from(*id).ok().and_then(|id| program.kfuncs.get(id));
            Some(name.map_or("a kernel function", String::as_str))
        }
        _ => None,
    })
}
