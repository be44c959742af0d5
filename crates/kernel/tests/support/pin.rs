//! Stays on one CPU: maps have a value for each, and one of them is compared.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on one of the CPUs that it may be on. Where that is forbidden, nothing
/// happens.
pub fn pin(which: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(cpus[which % cpus.len().max(1)]);
    let _ = sched_setaffinity(None, &one);
}
