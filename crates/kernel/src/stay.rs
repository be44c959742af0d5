//! Staying on one CPU.

use crate::sys::{cpu, pin};

/// Keeps the calling thread on the CPU that it is on: maps may have a value for each, and what runs
/// of a program do to them is the same only there. Whether it stays: systems may forbid it.
pub fn stay() -> bool {
    cpu().is_some_and(|cpu| pin(cpu).is_ok())
}
