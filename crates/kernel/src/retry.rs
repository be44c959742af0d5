//! Retries of runs that a signal ended before all repetitions were done.
//!
//! The kernel ends a run early if a signal is pending, for example after the process was stopped
//! and continued (`signal_pending` in `net/bpf/test_run.c`). Callers that count repetitions have to
//! restart their counts with the run. Therefore they retry, rather than the wrapper of the system
//! call.

/// Maximum number of tries: more interruptions than this are deliberate.
const TRIES: u32 = 16;

/// An error that can be an interruption by a signal.
pub trait Interruptible {
    /// Returns true if a signal ended the operation early.
    fn is_interrupted(&self) -> bool;
}

/// Calls `run`, and repeats the call if a signal ended it early.
///
/// # Errors
/// Errors of `run`.
pub fn retry<T, E: Interruptible>(mut run: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..TRIES {
        match run() {
            Err(fault) if fault.is_interrupted() => {}
            done => return done,
        }
    }
    run()
}
