//! How long Python waits for the thread that programs are timed on.

use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a job is waited for once somebody asked to end.
const GRACE: Duration = Duration::from_secs(1);

/// Whether to go on waiting: until a signal's handler raises, or somebody asked to end a while ago.
#[derive(Default)]
pub struct Waiting {
    asked: OnceLock<Instant>,
    raised: Mutex<Option<PyErr>>,
}

impl Waiting {
    /// Runs handlers of signals that have come, and says whether to go on.
    pub fn goes_on(&self) -> bool {
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
            return false;
        }
        self.asked.get().is_none_or(|asked| asked.elapsed() < GRACE)
    }

    /// Asks to end.
    pub fn stop(&self) {
        self.asked.get_or_init(Instant::now);
    }

    /// What a handler raised, once.
    pub fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
