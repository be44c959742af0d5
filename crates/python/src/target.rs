//! Devices that programs are analysed for.

use pyo3::prelude::*;

use crate::model::Model;

/// A target, read once. One that is not valid is an error of each program that is analysed for it.
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
    /// The built-in target of a name, or the one that `text` describes.
    #[new]
    #[pyo3(signature = (name, text = None))]
    fn new(name: &str, text: Option<String>) -> Self {
        let inner = match text {
            None => slowpath::Target::builtin(name),
            Some(text) => slowpath::Target::parse(name, text),
        };
        Target { inner }
    }

    /// What its user calls it.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Everything that is wrong with its description, also what keeps nobody from using it.
    fn problems(&self) -> Vec<String> {
        self.inner.problems()
    }

    /// The metrics of a target that counts; `None` for other targets and for what is none.
    #[getter]
    fn counters(&self) -> Option<Vec<String>> {
        self.inner.counters()
    }

    /// Bytes of the longest packet unless an option says otherwise; `None` for what is no target.
    #[getter]
    fn max_packet(&self) -> Option<u32> {
        self.inner.max_packet()
    }

    /// The machine whose times it estimates, and when these were measured; `None` where it does not
    /// estimate.
    #[getter]
    fn machine(&self) -> Option<(String, String)> {
        self.inner.machine()
    }

    /// The reason against the calibration as the default of that machine; `None` where it is good enough,
    /// or where it does not say.
    #[getter]
    fn doubt(&self) -> Option<String> {
        self.inner.doubt()
    }

    /// The models of components that its estimates can use, by their names.
    #[getter]
    fn models(&self) -> Vec<Model> {
        crate::model::models(&self.inner)
    }

    /// Whether programs of BPF objects are compiled for it.
    #[getter]
    fn compiles(&self) -> bool {
        self.inner.compiles()
    }
}
