//! Limits the time that Python waits for the timing thread.

use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time to wait for a job after a stop request.
const GRACE: Duration = Duration::from_secs(1);

/// State of a wait for jobs of the timing thread. A stop request or the exception of a signal
/// handler can end the wait.
#[derive(Default)]
pub struct Waiting {
    asked: OnceLock<Instant>,
    raised: Mutex<Option<PyErr>>,
}

impl Waiting {
    /// Runs handlers of pending signals. Returns false if a handler raised an exception, or the
    /// time after a stop request is over.
    pub fn goes_on(&self) -> bool {
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
            return false;
        }
        self.asked.get().is_none_or(|asked| asked.elapsed() < GRACE)
    }

    pub fn stop(&self) {
        self.asked.get_or_init(Instant::now);
    }

    /// Takes the exception that a signal handler raised; `None` if none did.
    pub fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
