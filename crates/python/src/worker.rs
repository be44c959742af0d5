//! Work of the engine that Python waits for: on a thread of its own, with the interpreter lock
//! released, and stopped by signals.

use crate::errors;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
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

    /// What is being done: to what, the stage, how much of it is done, and in which unit.
    #[getter]
    fn doing(&self) -> (String, &'static str, u64, &'static str) {
        let slowpath::Doing { subject, stage, done, unit } = self.inner.doing();
        (subject, stage, done, unit)
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

/// Work that says several things while it is done.
pub struct Running<M> {
    receiver: Mutex<Receiver<Option<M>>>,
    stop: slowpath::Stop,
}

/// What came next.
pub enum Next<M> {
    /// Nothing for a while.
    Pending,
    /// Something was said.
    Said(M),
    /// All is done.
    Finished,
}

/// Starts `work`, which polls whether it has to stop, and is given what to say things with.
pub fn start<M: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce(&slowpath::Stop, &dyn Fn(M)) + Send + 'static,
) -> PyResult<Running<M>> {
    let (sender, receiver) = channel();
    let polled = stop.inner.clone();
    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        // Nobody listens any more after an interrupt.
        work(&polled, &|said| drop(sender.send(Some(said))));
        drop(sender.send(None));
    })?;
    Ok(Running { receiver: Mutex::new(receiver), stop: stop.inner.clone() })
}

impl<M: Send> Running<M> {
    /// What comes next within a short time. A signal whose handler raises stops the work.
    pub fn next(&self, py: Python<'_>) -> PyResult<Next<M>> {
        if let Err(interrupt) = py.check_signals() {
            self.stop.ask();
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
