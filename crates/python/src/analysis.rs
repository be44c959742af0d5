//! A running analysis as a Python iterator of events.

use crate::events;
use crate::objects::{File, Kernel};
use pyo3::prelude::*;
use slowpath::{Options, Request, Step};
use std::time::Duration;

/// How long to wait for the engine before looking for a pending signal.
const SLICE: Duration = Duration::from_millis(50);

/// The analysis of one program, started when it is created.
///
/// Iterating yields `Bound`, `Path` and `SoFar` events and at last a `Result`; `None` where nothing
/// has happened for a while, so that the stage can be looked at.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Analysis {
    inner: slowpath::Analysis,
}

#[pymethods]
impl Analysis {
    /// Starts the analysis of program number `program` of `data` in a thread of its own.
    #[new]
    #[pyo3(signature = (
        file, data, program, kernel, *, target, target_is_text, metric, cores, unroll, paths, mtu,
        deadline_seconds, memory_bytes, assume, maps, map_abi, path_details, code
    ))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of the Python constructor")]
    fn new(
        file: String,
        data: &File,
        program: usize,
        kernel: Option<&Kernel>,
        target: String,
        target_is_text: bool,
        metric: Option<String>,
        cores: Option<u32>,
        unroll: Vec<String>,
        paths: Option<u64>,
        mtu: u16,
        deadline_seconds: Option<f64>,
        memory_bytes: Option<u64>,
        assume: Option<String>,
        maps: Option<String>,
        map_abi: Option<String>,
        path_details: u64,
        code: bool,
    ) -> Self {
        let options = Options {
            target,
            target_is_text,
            metric,
            cores,
            unroll,
            paths,
            mtu,
            deadline_seconds,
            memory_bytes,
            assume,
            maps,
            map_abi,
            path_details,
            code,
        };
        let kernel = kernel.map(Kernel::shared);
        let (data, object) = data.parts();
        let request = Request { file, data, object, program, kernel, options };
        Analysis { inner: slowpath::Analysis::start(request) }
    }

    /// Asks the analysis to stop with what it has; iterate on for its result.
    fn stop(&self) {
        self.inner.stop();
    }

    /// What is being done, such as `unrolling the program`.
    #[getter]
    fn stage(&self) -> &'static str {
        self.inner.stage()
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        py.check_signals()?;
        match py.detach(|| self.inner.next(SLICE)) {
            Step::Pending => Ok(Some(py.None())),
            Step::Event(event) => events::to_python(py, event).map(Some),
            Step::Finished => Ok(None),
        }
    }
}
