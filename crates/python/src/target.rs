//! The Python class for targets, the devices for which programs are analysed.

use pyo3::prelude::*;

use crate::model::Model;

/// A target, whose description is read once. An invalid description is reported as an error of each
/// program that is analysed for the target.
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
    /// Returns the target that `text` describes, or, without `text`, the built-in target with this
    /// name.
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

    /// Returns all problems of the description, including those that do not prevent its use.
    fn problems(&self) -> Vec<String> {
        self.inner.problems()
    }

    /// Names of the metrics of a target that counts events; `None` for targets that compute rates
    /// and for invalid ones.
    #[getter]
    fn counters(&self) -> Option<Vec<String>> {
        self.inner.counters()
    }

    /// Default of the maximum packet length in bytes; `None` for invalid targets.
    #[getter]
    fn max_packet(&self) -> Option<u32> {
        self.inner.max_packet()
    }

    /// Name of the machine whose times the target estimates, and date of the measurement; `None` if
    /// the target does not estimate times.
    #[getter]
    fn machine(&self) -> Option<(String, String)> {
        self.inner.machine()
    }

    /// Reason why the calibration is too poor to be the default of its machine; `None` if it is
    /// good enough or its quality is not known.
    #[getter]
    fn doubt(&self) -> Option<String> {
        self.inner.doubt()
    }

    /// Models of the times of components, such as map lookups, ordered by name.
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
