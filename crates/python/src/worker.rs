//! Runs work of the engine while Python waits for it.
//!
//! The work runs on its own thread. While Python waits, the interpreter lock is released, and
//! signals stop the work.

use crate::errors;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval between two checks for a pending signal while waiting for the engine.
const SLICE: Duration = Duration::from_millis(50);

/// Stack size of a thread, which follows long chains of merged states recursively.
const STACK_BYTES: usize = 512 << 20;

/// Conditions under which work ends early, with its results so far: a request, a deadline, or a
/// memory limit of the process.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Stop {
    inner: slowpath::Stop,
}

#[pymethods]
impl Stop {
    /// Creates stop conditions. The deadline counts from now.
    #[new]
    #[pyo3(signature = (deadline_seconds, memory_bytes))]
    fn new(deadline_seconds: Option<f64>, memory_bytes: Option<u64>) -> Self {
        let options =
            slowpath::Options { deadline_seconds, memory_bytes, ..slowpath::Options::default() };
        Stop { inner: slowpath::Stop::new(options.limits()) }
    }

    /// Requests to stop. The work then ends soon, with its results so far.
    fn set(&self) {
        self.inner.request_stop();
    }

    /// Reason why the work must stop; `None` if it may continue.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.inner.reason().map(|reason| reason.to_string())
    }

    /// Current stage, such as `compiling the program for the card`.
    #[getter]
    fn stage(&self) -> &'static str {
        self.inner.stage()
    }

    /// Progress of the work: its subject, its stage, the completed amount, and the unit of the
    /// amount.
    #[getter]
    fn doing(&self) -> (String, &'static str, u64, &'static str) {
        let slowpath::Activity { subject, stage, done, unit } = self.inner.activity();
        (subject, stage, done, unit)
    }
}

/// Runs `work` on its own thread and waits for its result. `work` must poll the stop condition that
/// it gets. If a signal handler raises an exception, requests a stop and returns the exception at
/// once.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce(&slowpath::Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let polled = stop.inner.clone();
    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // The receiver is gone after an interrupt.
        let _ = sender.send(work(&polled));
    })?;
    let receiver = Mutex::new(receiver);
    loop {
        if let Err(interrupt) = py.check_signals() {
            stop.inner.request_stop();
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

/// Work on its own thread that sends messages of type `M`.
pub struct Running<M> {
    receiver: Mutex<Receiver<Option<M>>>,
    stop: slowpath::Stop,
}

/// Result of waiting for the next message.
pub enum Next<M> {
    /// The work is running and has sent no message for a while.
    Pending,
    Said(M),
    /// The work has finished.
    Finished,
}

/// Starts `work` on its own thread. `work` must poll the stop condition that it gets, and sends
/// messages with the function that it gets.
pub fn start<M: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce(&slowpath::Stop, &dyn Fn(M)) + Send + 'static,
) -> PyResult<Running<M>> {
    let (sender, receiver) = channel();
    let polled = stop.inner.clone();
    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // The receiver is gone after an interrupt.
        work(&polled, &|said| drop(sender.send(Some(said))));
        drop(sender.send(None));
    })?;
    Ok(Running { receiver: Mutex::new(receiver), stop: stop.inner.clone() })
}

impl<M: Send> Running<M> {
    /// Waits a short time for the next message. If a signal handler raises an exception, requests a
    /// stop and returns the exception.
    pub fn next(&self, py: Python<'_>) -> PyResult<Next<M>> {
        if let Err(interrupt) = py.check_signals() {
            self.stop.request_stop();
            return Err(interrupt);
        }
        let waited = py.detach(|| match self.receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(SLICE),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match waited {
            Ok(Some(said)) => Ok(Next::Said(said)),
            Ok(None) => Ok(Next::Finished),
            Err(RecvTimeoutError::Timeout) => Ok(Next::Pending),
            Err(RecvTimeoutError::Disconnected) => Err(errors::defect(py, &"the engine failed")),
        }
    }
}
