//! Retries runs that a signal ended before all repetitions were done.
//!
//! The kernel ends a run early if a signal is pending, for example after the process was stopped
//! and continued (`signal_pending` in `net/bpf/test_run.c`). A caller that counts repetitions must
//! then restart its counts, too. Therefore the caller of a run retries it, not the wrapper of the
//! system call.

/// Maximum number of attempts. If signals end all of them, the interruptions are probably intended.
const TRIES: u32 = 16;

/// An error type with a variant for operations that a signal ended early.
pub trait Interruptible {
    /// Returns true if a signal ended the operation early.
    fn is_interrupted(&self) -> bool;
}

/// Calls `run` until no signal ends it early, at most 16 times.
///
/// # Errors
/// The error of the last call.
pub fn retry<T, E: Interruptible>(mut run: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..TRIES {
        match run() {
            Err(fault) if fault.is_interrupted() => {}
            done => return done,
        }
    }
    run()
}
