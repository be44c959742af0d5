//! Converts events of an analysis to immutable Python objects.

use pyo3::prelude::*;

/// An event of an analysis: the bound became tighter.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Bound {
    /// Guaranteed bound so far, in the unit of the metric: bit/s, packets/s, or a count.
    pub value: f64,
    /// Seconds since the start of the analysis.
    pub seconds: f64,
    /// Number of paths examined so far.
    pub candidates: u64,
    /// Number of nogoods found so far: sets of branch decisions that no packet can take together.
    pub nogoods: u64,
}

/// An event of an analysis: a satisfiable path was found.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Path {
    /// Number of the path in the order of discovery, from 1.
    pub index: u64,
}

/// An event of an analysis: the result that the analysis would have if it ended now.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct SoFar {
    /// One entry of `results` in the output of `bound`, as a JSON object with one path and without
    /// profile.
    pub json: String,
}

/// The last event of an analysis, with the final result.
#[pyclass(frozen, get_all, module = "slowpath._core")]
pub struct Result {
    /// One entry of `results` in the output of `bound`, as a JSON object.
    pub json: String,
    /// Data that only the human-readable report shows, as a JSON object.
    pub detail: String,
    /// True if no limit of time or memory and no request to stop affected the result.
    pub complete: bool,
    /// Certificate of the guarantee as a JSON object; `None` if there is none.
    pub certificate: Option<String>,
    /// Reason why there is no certificate; `None` if there is one, or none was requested.
    pub no_certificate: Option<String>,
}

/// Converts an event into a Python object.
pub fn to_python(py: Python<'_>, event: slowpath::Event) -> PyResult<Py<PyAny>> {
    match event {
        slowpath::Event::Bound { value, seconds, candidates, nogoods } => {
            let bound = Bound { value, seconds, candidates, nogoods };
            Ok(Py::new(py, bound)?.into_any())
        }
        slowpath::Event::Path { index } => Ok(Py::new(py, Path { index })?.into_any()),
        slowpath::Event::Intermediate(json) => Ok(Py::new(py, SoFar { json })?.into_any()),
        slowpath::Event::Result(report) => {
            let slowpath::Report { json, detail, complete, certificate } = *report;
            let (certificate, no_certificate) = match certificate {
                Some(Ok(text)) => (Some(text), None),
                Some(Err(reason)) => (None, Some(reason)),
                None => (None, None),
            };
            let result = Result { json, detail, complete, certificate, no_certificate };
            Ok(Py::new(py, result)?.into_any())
        }
    }
}
