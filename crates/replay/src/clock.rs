//! Reads the clocks that programs in the kernel can read.

use rustix::time::{ClockId, clock_gettime};

/// Returns the current time in nanoseconds of the clock that the helper `name` reads. Returns
/// `None` if the helper does not read a clock.
pub fn now(name: &str) -> Option<u64> {
    let clock = match name {
        _ if name.starts_with("bpf_ktime_get_ns") => ClockId::Monotonic,
        #[cfg(target_os = "linux")]
        _ if name.starts_with("bpf_ktime_get_coarse_ns") => ClockId::MonotonicCoarse,
        #[cfg(target_os = "linux")]
        _ if name.starts_with("bpf_ktime_get_boot_ns") => ClockId::Boottime,
        _ => return None,
    };
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}
