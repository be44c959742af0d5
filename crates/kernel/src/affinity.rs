//! Pinning of the calling thread to one CPU.

use crate::sys::{cpu, pin};

/// Pins the calling thread to its current CPU, so that all runs of a program use the same values of
/// per-CPU maps. Returns false if the system does not allow it.
pub fn pin_to_current_cpu() -> bool {
    cpu().is_some_and(|cpu| pin(cpu).is_ok())
}
