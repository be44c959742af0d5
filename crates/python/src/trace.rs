//! Runs the packets of a trace through programs.

use crate::errors;
use crate::measure::Station;
use crate::objects::Object;
use pyo3::prelude::*;
use slowpath_codes as codes;
use std::path::PathBuf;
use std::time::Duration;

/// A capture file whose packets run through a program, on the timing thread of a `Station`.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Trace {
    inner: slowpath_measure::Trace,
}

#[pymethods]
impl Trace {
    /// Opens the capture file `file` and loads a program, given by its index in `content`. `maps`
    /// is the text of `--maps`. Maps that it does not name have the content with which the kernel
    /// creates them.
    ///
    /// Raises an `Error` if the file cannot be read or the program cannot be loaded.
    #[new]
    #[pyo3(signature = (station, content, program, file, maps))]
    fn new(
        py: Python<'_>,
        station: &Station,
        content: &Object,
        program: usize,
        file: PathBuf,
        maps: Option<&str>,
    ) -> PyResult<Self> {
        let object = content.shared().object().ok_or_else(|| {
            let what = "it is a listing; the kernel runs BPF objects".to_owned();
            errors::exception(py, &slowpath::Error::Input(codes::LISTING_IN_KERNEL, what))
        })?;
        if slowpath::has_open(&object) {
            let what = "--set NAME=any: packets of a trace find one value; state it".to_owned();
            return Err(errors::exception(
                py,
                &slowpath::Error::Option(codes::INVALID_VALUE, what),
            ));
        }
        let maps = slowpath::initial_maps(maps.unwrap_or_default(), &object)
            .map_err(|error| errors::exception(py, &error))?;
        let Station { kernel, inner, .. } = station;
        let started = station.perform(py, || {
            slowpath_measure::Trace::start(inner, kernel, &object, program, &file, maps)
        });
        Ok(Trace { inner: started? })
    }

    /// Runs the next packets of the trace for about `milliseconds`. Returns true if more packets
    /// may follow.
    fn advance(&self, py: Python<'_>, station: &Station, milliseconds: u64) -> PyResult<bool> {
        let time = Duration::from_millis(milliseconds);
        station.perform(py, || self.inner.advance(&station.inner, time))
    }

    /// Number of packets read so far.
    #[getter]
    fn packets(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.inner.packets())
    }

    /// Returns the results so far, as JSON text (`slowpath_measure::TraceReport`).
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| serde_json::to_string(&self.inner.report()));
        text.map_err(|error| {
            errors::exception(py, &slowpath::Error::Input(codes::INTERNAL_ERROR, error.to_string()))
        })
    }

    /// Returns the JSON text of a witness for a path, given by its number in the report, from 1: a
    /// packet of the trace that took the path, and the content of maps before it. Returns `None` if
    /// no such packet was kept.
    fn witness(&self, py: Python<'_>, path: usize) -> Option<String> {
        py.detach(|| self.inner.witness(path))
    }
}
