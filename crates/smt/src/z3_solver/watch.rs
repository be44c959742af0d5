//! Interrupts a running Z3 check at a time limit, or when another thread requests it. Z3 accepts an
//! interrupt only while a check runs, so a watcher thread repeats the interrupt until the check
//! ends.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ::z3::ast::Bool;
use ::z3::{SatResult, Solver};

use slowpath_stop::Stop;

/// Interval between two polls of the stop condition.
const POLL: Duration = Duration::from_millis(5);

/// Guard that, when dropped, tells the watcher thread that the check has ended. This works even
/// after a panic.
struct Finish<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// Runs a check, and ends it early when the stop condition holds.
pub(super) fn check(solver: &Solver, guards: &[Bool], stop: &Stop) -> SatResult {
    if !stop.is_possible() {
        return solver.check_assumptions(guards);
    }
    let (finished, changed) = (Mutex::new(false), Condvar::new());
    let context = solver.get_context();
    let handle = context.handle();
    thread::scope(|scope| {
        let _finish = Finish(&finished, &changed);
        let (finished, changed) = (&finished, &changed);
        scope.spawn(move || {
            let mut done = finished.lock().unwrap_or_else(PoisonError::into_inner);
            while !*done {
                if stop.reason().is_some() {
                    handle.interrupt();
                }
                let left = stop.remaining();
                let pause = left.filter(|l| !l.is_zero()).map_or(POLL, |l| l.min(POLL));
                done = changed.wait_timeout(done, pause).unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        solver.check_assumptions(guards)
    })
}
