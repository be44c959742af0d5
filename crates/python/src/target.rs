//! The devices for which programs are analysed.

use pyo3::prelude::*;

use crate::model::Model;

/// A target, read once. An invalid target is reported as an error of each program that is analysed
/// for it.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Target {
    inner: slowpath::Target,
}

impl Target {
    pub fn shared(&self) -> slowpath::Target {
        self.inner.clone()
    }
}

#[pymethods]
impl Target {
    /// Returns the built-in target with a name, or the one that `text` describes.
    #[new]
    #[pyo3(signature = (name, text = None))]
    fn new(name: &str, text: Option<String>) -> Self {
        let inner = match text {
            None => slowpath::Target::builtin(name),
            Some(text) => slowpath::Target::parse(name, text),
        };
        Target { inner }
    }

    /// Name of the target, as the user gave it.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Returns all problems of the description, including those that leave it usable.
    fn problems(&self) -> Vec<String> {
        self.inner.problems()
    }

    /// Metrics of a counting target; `None` for other targets and for invalid ones.
    #[getter]
    fn counters(&self) -> Option<Vec<String>> {
        self.inner.counters()
    }

    /// Default of the maximum packet length in bytes; `None` for invalid targets.
    #[getter]
    fn max_packet(&self) -> Option<u32> {
        self.inner.max_packet()
    }

    /// The machine whose times the target estimates, and the date of the measurement; `None`
    /// without estimates.
    #[getter]
    fn machine(&self) -> Option<(String, String)> {
        self.inner.machine()
    }

    /// Reason not to use the calibration as the default of the machine; `None` if it is good enough
    /// or its quality is not known.
    #[getter]
    fn doubt(&self) -> Option<String> {
        self.inner.doubt()
    }

    /// Models of components for the estimates, ordered by name.
    #[getter]
    fn models(&self) -> Vec<Model> {
        crate::model::models(&self.inner)
    }

    /// True if BPF programs are compiled for the target.
    #[getter]
    fn compiles(&self) -> bool {
        self.inner.compiles()
    }

    /// True if the target runs pipelines of DPDK's software switch.
    #[getter]
    fn runs_pipelines(&self) -> bool {
        self.inner.runs_pipelines()
    }
}
