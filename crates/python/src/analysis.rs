//! Runs an analysis for Python, as an iterator of events.

use crate::events;
use crate::objects::{Btf, Object};
use crate::target::Target;
use crate::values;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slowpath::{Options, Poll, ProgramRequest};
use std::time::Duration;

/// Interval between two checks for a pending signal while waiting for the engine.
const SLICE: Duration = Duration::from_millis(50);

/// The analysis of one program. Creating it starts the analysis.
///
/// Iterating yields `Bound`, `Path` and `SoFar` events and finally a `Result`. It yields `None` if
/// nothing happens for a while, so that the caller can read the stage.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Analysis {
    inner: slowpath::Analysis,
}

#[pymethods]
impl Analysis {
    /// Starts the analysis of one program in its own thread. `program` is the index of the program
    /// in `object`.
    ///
    /// `options` may have any fields of `slowpath::Options` and no others; missing fields have
    /// their defaults.
    #[new]
    fn new(
        file: String,
        object: &Object,
        program: usize,
        btf: Option<&Btf>,
        target: &Target,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = Options { target: target.shared(), ..values::from_table(options)? };
        let (object, kernel) = (object.shared(), btf.map(Btf::shared));
        let request = ProgramRequest { file, object, program, kernel, options };
        Ok(Analysis { inner: slowpath::Analysis::start(request) })
    }

    /// Asks the analysis to stop with its results so far. Iterating then yields these results.
    fn stop(&self) {
        self.inner.stop();
    }

    /// Current stage, such as `unrolling the program`.
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
            Poll::Pending => Ok(Some(py.None())),
            Poll::Event(event) => events::to_python(py, event).map(Some),
            Poll::Finished => Ok(None),
        }
    }
}
