//! Runs that a signal ended before all repetitions were made: they begin anew.
//!
//! The kernel ends them when the process is stopped and continued, for example (`signal_pending` in
//! `net/bpf/test_run.c`). What counts repetitions has to begin anew with them, so this is for whoever
//! counts, not for the system call.

/// How often; then somebody does not want it.
const TRIES: u32 = 16;

/// An error that may be an interruption.
pub trait Interruptible {
    /// Whether a signal came before it was done.
    fn is_interrupted(&self) -> bool;
}

/// Does something, and all of it again if a signal ended it.
///
/// # Errors
/// Those of `run`.
pub fn again<T, E: Interruptible>(mut run: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..TRIES {
        match run() {
            Err(fault) if fault.is_interrupted() => {}
            done => return done,
        }
    }
    run()
}
