//! Work of the engine that Python waits for: on a thread of its own, with the interpreter lock
//! released, and stopped by signals.

use crate::errors;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long to wait for the engine before looking for a pending signal.
const SLICE: Duration = Duration::from_millis(50);

/// Stack of the worker: long chains of merged states are followed recursively.
const STACK_BYTES: usize = 512 << 20;

/// Says when work has to stop with what it has: when asked, at a deadline, or when the process takes
/// too much memory.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Stop {
    inner: slowpath::Stop,
}

#[pymethods]
impl Stop {
    /// The limits begin to count.
    #[new]
    #[pyo3(signature = (deadline_seconds, memory_bytes))]
    fn new(deadline_seconds: Option<f64>, memory_bytes: Option<u64>) -> Self {
        let options =
            slowpath::Options { deadline_seconds, memory_bytes, ..slowpath::Options::default() };
        Stop { inner: slowpath::Stop::new(options.limits()) }
    }

    /// Asks; the work ends soon.
    fn set(&self) {
        self.inner.ask();
    }

    /// Why the work has to stop, if it has to.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.inner.reason().map(|reason| reason.to_string())
    }

    /// What is being done, such as `compiling the program for the card`.
    #[getter]
    fn stage(&self) -> &'static str {
        self.inner.stage()
    }
}

/// Does `work`, which polls whether it has to stop, and waits for it. A signal whose handler raises
/// ends the waiting, and stops the work.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce(&slowpath::Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let polled = stop.inner.clone();
    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody listens any more after an interrupt.
        let _ = sender.send(work(&polled));
    })?;
    let receiver = Mutex::new(receiver);
    loop {
        if let Err(interrupt) = py.check_signals() {
            stop.inner.ask();
            return Err(interrupt);
        }
        let waited = py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(SLICE),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match waited {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(errors::defect(py, &"the engine failed"));
            }
        }
    }
}
