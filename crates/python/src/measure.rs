//! Measures the time that paths of programs take in the running kernel.

use crate::errors;
use crate::kernel::Kernel;
use crate::objects::Object;
use crate::waiting::Waiting;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use slowpath_codes as codes;
use slowpath_kernel::timing::TimingError;
use slowpath_measure::{MeasureError, Reference};
use slowpath_replay::ReplayError;
use std::sync::Arc;

/// The thread on which programs are timed, in a private network namespace. Callers check for
/// signals while they wait for the thread.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Station {
    pub kernel: Arc<slowpath_kernel::Kernel>,
    pub inner: slowpath_kernel::timing::TimingThread,
    waiting: Arc<Waiting>,
}

#[pymethods]
impl Station {
    /// Starts the thread. If possible, it is pinned to the CPU `cpu` and has real-time priority.
    ///
    /// Raises an `Error` of kind `unavailable` if namespaces cannot be created.
    #[new]
    #[pyo3(signature = (kernel, cpu))]
    fn new(py: Python<'_>, kernel: &Kernel, cpu: Option<usize>) -> PyResult<Self> {
        let kernel = kernel.shared();
        let waiting = Arc::new(Waiting::default());
        let asked = Arc::clone(&waiting);
        let started = py.detach(|| {
            let station = slowpath_kernel::timing::TimingThread::start(cpu)?;
            Ok::<_, TimingError>(station.with_cancellation(move || asked.goes_on()))
        });
        let inner = started.map_err(|error| {
            errors::exception(py, &slowpath::Error::Unavailable(error.code(), error.to_string()))
        })?;
        Ok(Station { kernel, inner, waiting })
    }

    /// Requests to stop. A job that is not finished within a second then raises an `Error`.
    fn stop(&self) {
        self.waiting.stop();
    }

    /// CPU that the thread is pinned to, if any.
    #[getter]
    fn cpu(&self) -> Option<usize> {
        self.inner.scheduling().cpu
    }

    /// True if the thread has real-time priority.
    #[getter]
    fn real_time(&self) -> bool {
        self.inner.scheduling().real_time
    }

    /// Thread ID in the operating system.
    #[getter]
    fn thread(&self) -> i32 {
        self.inner.scheduling().thread
    }

    /// Finds a way to time a path of a program. `program` is its index in `content`. `witness` is
    /// the JSON text of the path's witness. `instructions` is the number of instructions of the
    /// path, if known. `maps` is the text of `--maps`.
    ///
    /// Raises an `Error` if the path cannot be timed. If kernel and interpreter disagree, its kind
    /// is `defect` and its `report` has all data to reproduce the problem.
    #[pyo3(signature = (content, program, witness, instructions, maps))]
    #[allow(clippy::too_many_arguments, reason = "arguments of the Python method")]
    fn prepare(
        &self,
        py: Python<'_>,
        content: &Object,
        program: usize,
        witness: &str,
        instructions: Option<u64>,
        maps: Option<&str>,
    ) -> PyResult<Case> {
        let object = content.shared().object().ok_or_else(|| {
            let what = "it is a listing; the kernel runs BPF objects".to_owned();
            errors::exception(py, &slowpath::Error::Input(codes::LISTING_IN_KERNEL, what))
        })?;
        let prepared = self.perform(py, || {
            let mut witness = serde_json::from_str(witness)?;
            // The witness contains the writable variables; set them before other variables get
            // arbitrary values.
            slowpath::with_stated(&object, &mut witness);
            let object = slowpath::as_witnessed(&object, &witness);
            let Station { kernel, inner, .. } = self;
            // Map content that cannot be installed is left out; the run shows whether it matters.
            if let Some(Ok(content)) = maps.map(|text| slowpath::initial_maps(text, &object)) {
                witness =
                    slowpath_measure::with_content(kernel, &object, program, witness, &content)?;
            }
            slowpath_measure::Case::prepare(inner, kernel, &object, program, witness, instructions)
        });
        let inner = prepared.map(Arc::new)?;
        Ok(Case { inner })
    }

    /// Loads the programs of cases into the kernel, each with its own maps.
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn load(&self, py: Python<'_>, cases: Vec<PyRef<'_, Case>>) -> PyResult<Load> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Load::new(inner, kernel, cases));
        let inner = loaded.map(Arc::new)?;
        Ok(Load { inner })
    }

    /// Loads the busy loop, which detects disturbances while programs are timed.
    fn load_busy(&self, py: Python<'_>) -> PyResult<Busy> {
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Busy::new(inner, kernel))?;
        Ok(Busy { inner: Arc::new(loaded) })
    }

    /// Times the busy loop in one call of `repeat` runs. Returns the total nanoseconds, the number
    /// of runs, and the last return value.
    fn sample_busy(&self, py: Python<'_>, busy: &Busy, repeat: u32) -> PyResult<(u64, u64, u32)> {
        let sample = self.perform(py, || busy.inner.sample(&self.inner, repeat))?;
        Ok((sample.nanoseconds, sample.runs, sample.return_value))
    }

    /// Loads the programs that measure the speed of the CPU.
    fn load_pace(&self, py: Python<'_>) -> PyResult<Pace> {
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Pace::new(inner, kernel))?;
        Ok(Pace { inner: Arc::new(loaded) })
    }

    /// Times the programs of `load_pace` in calls of `repeat` runs each. Returns the nanoseconds of
    /// two kinds of additions: one that needs the result of the previous addition, and one that
    /// needs no earlier result.
    fn pace(&self, py: Python<'_>, pace: &Pace, repeat: u32) -> PyResult<(f64, f64)> {
        let paced = self.perform(py, || pace.inner.sample(&self.inner, repeat))?;
        Ok((paced.dependent, paced.independent))
    }

    /// Finds packets of many flows that take the path of a case. The map elements of all flows
    /// together are larger than a last-level cache of `cache_bytes` bytes.
    ///
    /// Raises an `Error` with the reason if there are no such packets.
    fn cool(&self, py: Python<'_>, case: &Case, cache_bytes: u64) -> PyResult<Cold> {
        let Station { kernel, inner, .. } = self;
        let found = self
            .perform(py, || slowpath_measure::Cold::find(inner, kernel, &case.inner, cache_bytes));
        let inner = found.map(Arc::new)?;
        Ok(Cold { inner })
    }

    /// Loads cases whose map elements exceed the cache. Each case is followed by an empty program
    /// that gets the same packets, for comparison.
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn load_cold(&self, py: Python<'_>, cases: Vec<PyRef<'_, Cold>>) -> PyResult<Load> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Load::cold(inner, kernel, cases));
        let inner = loaded.map(Arc::new)?;
        Ok(Load { inner })
    }

    /// Times a loaded program in one call of `repeat` runs. `subject` is the index of a case in
    /// `load`; or -1 - i for the reference program with index i in
    /// `slowpath_measure::Reference::ALL`. Returns the total nanoseconds, the number of runs, and
    /// the last return value.
    fn sample(
        &self,
        py: Python<'_>,
        load: &Load,
        subject: i64,
        repeat: u32,
    ) -> PyResult<(u64, u64, u32)> {
        let sample = match usize::try_from(subject) {
            Ok(case) => self.perform(py, || load.inner.sample(&self.inner, case, repeat)),
            Err(_) => {
                let number = usize::try_from(subject.unsigned_abs() - 1).ok();
                let reference = number.and_then(|number| Reference::ALL.get(number)).copied();
                let reference =
                    reference.ok_or_else(|| PyIndexError::new_err("no such reference"))?;
                self.perform(py, || load.inner.sample_reference(&self.inner, reference, repeat))
            }
        }?;
        Ok((sample.nanoseconds, sample.runs, sample.return_value))
    }
}

impl Station {
    /// Runs a job that waits for the timing thread. Releases the interpreter lock meanwhile.
    ///
    /// Raises an `Error` if the job fails, or the exception of a signal handler.
    pub fn perform<T: Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce() -> Result<T, MeasureError> + Send,
    ) -> PyResult<T> {
        py.detach(job).map_err(|error| match error {
            MeasureError::Timing(TimingError::Cancelled) => {
                self.waiting.raised().unwrap_or_else(|| exception(py, &error))
            }
            _ => exception(py, &error),
        })
    }
}

/// A busy loop that detects disturbances of the programs that are timed next to it.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Busy {
    inner: Arc<slowpath_measure::Busy>,
}

/// Programs that measure the speed of the CPU.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Pace {
    inner: Arc<slowpath_measure::Pace>,
}

/// A path through a program that can be timed, with a packet and map content with which the program
/// takes the path.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Case {
    pub inner: Arc<slowpath_measure::Case>,
}

#[pymethods]
impl Case {
    /// Way in which repetitions take the path: `repeated` if repeated runs take it by themselves,
    /// `restored` if a program undoes the changes of each run.
    #[getter]
    fn arrangement(&self) -> String {
        self.inner.arrangement().to_string()
    }

    /// True if ring buffers are emptied between calls. A sample then consists of several calls.
    #[getter]
    fn drained(&self) -> bool {
        self.inner.is_drained()
    }

    /// Maximum number of runs that may be timed before the maps are filled again.
    #[getter]
    fn repetitions(&self) -> u32 {
        self.inner.repetitions()
    }

    /// Return value of the program (`enum xdp_action`).
    #[getter]
    fn action(&self) -> u32 {
        self.inner.action()
    }

    /// Number of instructions that a run executes, counted by the kernel.
    #[getter]
    fn instructions(&self) -> u64 {
        self.inner.instructions()
    }

    /// Behaviour of later packets on the same maps; `None` if they take the same path as the first
    /// one.
    #[getter]
    fn later(&self) -> Option<Later> {
        self.inner.subsequent_packets().cloned().map(|inner| Later { inner })
    }

    /// Digest that identifies the path, in hexadecimal; `None` if the path is unknown.
    #[getter]
    fn path(&self) -> Option<String> {
        self.inner.path().map(|path| path.to_string())
    }

    /// Helpers whose result is replaced, because the path needs another result than the kernel's.
    #[getter]
    fn answered(&self) -> Vec<&str> {
        self.inner.answered()
    }

    /// Helpers that are not called, because a call would have side effects. The measured time does
    /// not include them.
    #[getter]
    fn omitted(&self) -> Vec<&str> {
        self.inner.omitted()
    }
}

/// Behaviour of the packets after the first one. They find the changes that the first packet has
/// made to the maps.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Later {
    inner: slowpath_measure::SubsequentPackets,
}

#[pymethods]
impl Later {
    /// Return value for a second packet (`enum xdp_action`).
    #[getter]
    fn action(&self) -> u32 {
        self.inner.action()
    }

    /// Number of instructions for a second packet, counted by the kernel.
    #[getter]
    fn instructions(&self) -> u64 {
        self.inner.instructions()
    }

    /// Path of all packets from the second one on; `None` if they have no common path.
    #[getter]
    fn case(&self) -> Option<Case> {
        self.inner.case().ok().map(|case| Case { inner: Arc::clone(case) })
    }

    /// Reason why later packets have no common path; `None` if they have one.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.inner.case().err()
    }
}

/// A path that packets of many flows take. Each flow accesses other map elements.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Cold {
    inner: Arc<slowpath_measure::Cold>,
}

#[pymethods]
impl Cold {
    /// Number of flows.
    #[getter]
    fn flows(&self) -> usize {
        self.inner.flows()
    }

    /// Total bytes of the map elements that the flows touch.
    #[getter]
    fn entry_bytes(&self) -> u64 {
        self.inner.entry_bytes()
    }

    /// Ranges of packet bytes in which the flows differ. Each has its offset and its length in
    /// bytes.
    #[getter]
    fn varied(&self) -> Vec<(u32, u32)> {
        self.inner.rotation().varied()
    }

    /// Reason why the map elements of all flows together are not larger than the cache; `None` if
    /// they are.
    #[getter]
    fn limited(&self) -> Option<&str> {
        self.inner.limited()
    }
}

/// Cases that are loaded in the kernel.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Load {
    inner: Arc<slowpath_measure::Load>,
}

/// Converts an error into an exception. The exception for an internal defect has a `report`.
pub fn exception(py: Python<'_>, error: &MeasureError) -> PyErr {
    let (kind, report) = match error {
        MeasureError::Replay(ReplayError::Disagreement(what)) => {
            (slowpath::Error::Disagreement(error.to_string()), Some(what.report()))
        }
        _ => (slowpath::Error::Input(error.code(), error.to_string()), None),
    };
    let raised = errors::exception(py, &kind);
    let cancelled = matches!(error, MeasureError::Timing(TimingError::Cancelled));
    let set = || {
        if cancelled {
            raised.value(py).setattr("kind", "stopped")?;
            raised.value(py).setattr("stopped", "interrupted")?;
        }
        raised.value(py).setattr("report", report)
    };
    match set() {
        Ok(()) => raised,
        Err(problem) => problem,
    }
}
