//! Models of components in descriptions of targets.

use pyo3::prelude::*;

/// What a component takes by one parameter, as an experiment came to.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Model {
    target: slowpath::Target,
    /// The experiment.
    #[pyo3(get)]
    name: String,
    /// What was measured.
    #[pyo3(get)]
    description: String,
    /// What was varied.
    #[pyo3(get)]
    parameter: String,
    /// The least and the greatest value that was measured.
    #[pyo3(get)]
    range: (f64, f64),
    /// How many segments with a function of their own it has.
    #[pyo3(get)]
    segments: usize,
    /// Symmetric mean absolute percentage error in parts.
    #[pyo3(get)]
    error: f64,
    /// The same of points that it was not fitted to.
    #[pyo3(get)]
    held_out: Option<f64>,
    /// Calls of the kernel whose price grows as it says.
    #[pyo3(get)]
    calls: Vec<String>,
}

#[pymethods]
impl Model {
    /// Nanoseconds at a value of the parameter; `None` where it has none.
    fn at(&self, value: f64) -> Option<f64> {
        self.target.models().get(&self.name)?.at(value)
    }
}

/// All models of a target, by their names.
pub fn models(target: &slowpath::Target) -> Vec<Model> {
    let known = target.models().iter();
    known
        .map(|(name, model)| Model {
            target: target.clone(),
            name: name.clone(),
            description: model.description.clone(),
            parameter: model.parameter.clone(),
            range: model.range(),
            segments: model.segments.len(),
            error: model.error,
            held_out: model.held_out,
            calls: model.calls.clone(),
        })
        .collect()
}
