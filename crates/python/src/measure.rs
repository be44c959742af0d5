//! Paths of programs, timed in the running kernel.

use crate::errors;
use crate::kernel::Kernel;
use crate::objects::Object;
use crate::waiting::Waiting;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use slowpath_kernel::timing::TimingError;
use slowpath_measure::{MeasureError, Reference};
use slowpath_replay::ReplayError;
use std::sync::Arc;

/// The thread that programs are timed on, in a private network namespace. Who waits for it looks for
/// signals meanwhile.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Station {
    pub kernel: Arc<slowpath_kernel::Kernel>,
    pub inner: slowpath_kernel::timing::Station,
    waiting: Arc<Waiting>,
}

#[pymethods]
impl Station {
    /// Starts the thread, on this CPU and before other work, as far as that is possible.
    ///
    /// Raises an `Error` of kind `unavailable` where there are no namespaces.
    #[new]
    #[pyo3(signature = (kernel, cpu))]
    fn new(py: Python<'_>, kernel: &Kernel, cpu: Option<usize>) -> PyResult<Self> {
        let kernel = kernel.shared();
        let waiting = Arc::new(Waiting::default());
        let asked = Arc::clone(&waiting);
        let started = py.detach(|| {
            let station = slowpath_kernel::timing::Station::start(cpu)?;
            Ok::<_, TimingError>(station.with_patience(move || asked.goes_on()))
        });
        let inner = started.map_err(|error| {
            errors::exception(py, &slowpath::Error::Unavailable(error.to_string()))
        })?;
        Ok(Station { kernel, inner, waiting })
    }

    /// Asks to end soon: what takes much longer from now on is not waited for.
    fn stop(&self) {
        self.waiting.stop();
    }

    /// The CPU that the thread is pinned to, if it is.
    #[getter]
    fn cpu(&self) -> Option<usize> {
        self.inner.scheduling().cpu
    }

    /// Whether other work waits for it.
    #[getter]
    fn real_time(&self) -> bool {
        self.inner.scheduling().real_time
    }

    /// The number of the thread in the system.
    #[getter]
    fn thread(&self) -> i32 {
        self.inner.scheduling().thread
    }

    /// Finds out how a path of a program can be timed: `witness` is the JSON text of its witness,
    /// `instructions` how many it is known to take, `maps` the text of `--maps`.
    ///
    /// Raises an `Error`; of kind `defect` if kernel and interpreter disagree, with all that it takes
    /// to see it again in `report`.
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
            errors::exception(py, &slowpath::Error::Input(what))
        })?;
        let prepared = self.perform(py, || {
            let mut witness = serde_json::from_str(witness)?;
            // Before variables with any value get one: a witness has those that are writable.
            slowpath::with_stated(&object, &mut witness);
            let object = slowpath::as_witnessed(&object, &witness);
            let Station { kernel, inner, .. } = self;
            // What cannot be filled is left out: whether the path is taken without, the run shows.
            if let Some(Ok(content)) = maps.map(|text| slowpath::start_maps(text, &object)) {
                witness =
                    slowpath_measure::with_content(kernel, &object, program, witness, &content)?;
            }
            slowpath_measure::Case::prepare(inner, kernel, &object, program, witness, instructions)
        });
        let inner = prepared.map(Arc::new)?;
        Ok(Case { inner })
    }

    /// Loads cases anew, each with maps of its own.
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn load(&self, py: Python<'_>, cases: Vec<PyRef<'_, Case>>) -> PyResult<Load> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Load::new(inner, kernel, cases));
        let inner = loaded.map(Arc::new)?;
        Ok(Load { inner })
    }

    /// Loads the busy loop.
    fn load_busy(&self, py: Python<'_>) -> PyResult<Busy> {
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Busy::new(inner, kernel))?;
        Ok(Busy { inner: Arc::new(loaded) })
    }

    /// Times it, in one call with so many runs: nanoseconds of all of them, how many
    /// these are, and what the last one returned.
    fn sample_busy(&self, py: Python<'_>, busy: &Busy, repeat: u32) -> PyResult<(u64, u64, u32)> {
        let sample = self.perform(py, || busy.inner.sample(&self.inner, repeat))?;
        Ok((sample.nanoseconds, sample.runs, sample.return_value))
    }

    /// Loads programs that tell how fast the CPU itself is.
    fn load_pace(&self, py: Python<'_>) -> PyResult<Pace> {
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Pace::new(inner, kernel))?;
        Ok(Pace { inner: Arc::new(loaded) })
    }

    /// Times them, in calls with so many runs: nanoseconds of an addition that waits for the one before
    /// it, and of one that waits for none.
    fn pace(&self, py: Python<'_>, pace: &Pace, repeat: u32) -> PyResult<(f64, f64)> {
        let paced = self.perform(py, || pace.inner.sample(&self.inner, repeat))?;
        Ok((paced.dependent, paced.independent))
    }

    /// Finds packets of many flows that take the path of a case and whose elements of maps exceed a
    /// last-level cache of so many bytes.
    ///
    /// Raises an `Error` that says why there are none.
    fn cool(&self, py: Python<'_>, case: &Case, cache_bytes: u64) -> PyResult<Cold> {
        let Station { kernel, inner, .. } = self;
        let found = self
            .perform(py, || slowpath_measure::Cold::find(inner, kernel, &case.inner, cache_bytes));
        let inner = found.map(Arc::new)?;
        Ok(Cold { inner })
    }

    /// Loads cold cases anew, each followed by an empty program that gets the same packets.
    #[allow(clippy::needless_pass_by_value, reason = "a list of Python objects")]
    fn load_cold(&self, py: Python<'_>, cases: Vec<PyRef<'_, Cold>>) -> PyResult<Load> {
        let cases = cases.iter().map(|case| Arc::clone(&case.inner)).collect();
        let Station { kernel, inner, .. } = self;
        let loaded = self.perform(py, || slowpath_measure::Load::cold(inner, kernel, cases));
        let inner = loaded.map(Arc::new)?;
        Ok(Load { inner })
    }

    /// Times a case of a load by its number, or a reference by its negative one (see
    /// `slowpath_measure::Reference::ALL`), in one call with so many runs: nanoseconds of all of them,
    /// how many these are, and what the last one returned.
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
    /// Does what waits for the thread, with the interpreter lock released.
    ///
    /// Raises an `Error`, or what the handler of a signal raised meanwhile.
    pub fn perform<T: Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce() -> Result<T, MeasureError> + Send,
    ) -> PyResult<T> {
        py.detach(job).map_err(|error| match error {
            MeasureError::Timing(TimingError::NotAwaited) => {
                self.waiting.raised().unwrap_or_else(|| exception(py, &error))
            }
            _ => exception(py, &error),
        })
    }
}

/// A busy loop, which tells whether something disturbed what was timed beside it.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Busy {
    inner: Arc<slowpath_measure::Busy>,
}

/// Programs that tell how fast the CPU itself is.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Pace {
    inner: Arc<slowpath_measure::Pace>,
}

/// A path that can be timed.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Case {
    pub inner: Arc<slowpath_measure::Case>,
}

#[pymethods]
impl Case {
    /// How repetitions are made to take the path: `repeated` or `restored`.
    #[getter]
    fn arrangement(&self) -> String {
        self.inner.arrangement().to_string()
    }

    /// Whether ring buffers are emptied between calls, of which a sample is then several.
    #[getter]
    fn drained(&self) -> bool {
        self.inner.is_drained()
    }

    /// How many repetitions may be timed with the maps of one load.
    #[getter]
    fn repetitions(&self) -> u32 {
        self.inner.repetitions()
    }

    /// What the program returns (`enum xdp_action`).
    #[getter]
    fn action(&self) -> u32 {
        self.inner.action()
    }

    /// How many instructions the kernel counts.
    #[getter]
    fn instructions(&self) -> u64 {
        self.inner.instructions()
    }

    /// What further packets do; `None` if they take the same path.
    #[getter]
    fn later(&self) -> Option<Later> {
        self.inner.later().cloned().map(|inner| Later { inner })
    }

    /// Which path it is, as digits; `None` where that is not known.
    #[getter]
    fn path(&self) -> Option<String> {
        self.inner.path().map(|path| path.to_string())
    }

    /// Helpers whose answer is given.
    #[getter]
    fn answered(&self) -> Vec<&str> {
        self.inner.answered()
    }

    /// Helpers that are not called.
    #[getter]
    fn omitted(&self) -> Vec<&str> {
        self.inner.omitted()
    }
}

/// What packets do that find the maps as a first one left them.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Later {
    inner: slowpath_measure::Later,
}

#[pymethods]
impl Later {
    /// What a second packet returns (`enum xdp_action`).
    #[getter]
    fn action(&self) -> u32 {
        self.inner.action()
    }

    /// How many instructions the kernel counts for a second packet.
    #[getter]
    fn instructions(&self) -> u64 {
        self.inner.instructions()
    }

    /// The path of all packets from the second one on; `None` if they have none in common.
    #[getter]
    fn case(&self) -> Option<Case> {
        self.inner.case().ok().map(|case| Case { inner: Arc::clone(case) })
    }

    /// Why they have none in common; `None` if they have.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.inner.case().err()
    }
}

/// A path that many flows take, each with other elements of maps.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Cold {
    inner: Arc<slowpath_measure::Cold>,
}

#[pymethods]
impl Cold {
    /// How many flows there are.
    #[getter]
    fn flows(&self) -> usize {
        self.inner.flows()
    }

    /// Bytes of the elements of maps that they touch.
    #[getter]
    fn entry_bytes(&self) -> u64 {
        self.inner.entry_bytes()
    }

    /// Which bytes of the packet differ: offsets and lengths.
    #[getter]
    fn varied(&self) -> Vec<(u32, u32)> {
        self.inner.rotation().places.clone()
    }

    /// Why the elements are not more than the cache holds; `None` if they are.
    #[getter]
    fn limited(&self) -> Option<&str> {
        self.inner.limited()
    }
}

/// Cases in the kernel.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Load {
    inner: Arc<slowpath_measure::Load>,
}

/// An error as an exception; one that is a defect here has a `report`.
fn exception(py: Python<'_>, error: &MeasureError) -> PyErr {
    let (kind, report) = match error {
        MeasureError::Replay(ReplayError::Disagreement(what)) => {
            (slowpath::Error::Disagreement(error.to_string()), Some(what.report()))
        }
        _ => (slowpath::Error::Input(error.to_string()), None),
    };
    let raised = errors::exception(py, &kind);
    match raised.value(py).setattr("report", report) {
        Ok(()) => raised,
        Err(problem) => problem,
    }
}
