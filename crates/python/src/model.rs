//! Reads the performance models of components, such as map lookups, from target descriptions.

use pyo3::prelude::*;

/// A model of the time that a component of the machine needs, such as a map lookup, as a function
/// of one parameter. It was fitted to the measurements of an experiment.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Model {
    target: slowpath::Target,
    /// Name of the experiment.
    #[pyo3(get)]
    name: String,
    /// Description of the measured component.
    #[pyo3(get)]
    description: String,
    /// Name of the varied parameter.
    #[pyo3(get)]
    parameter: String,
    /// Smallest and largest measured value of the parameter.
    #[pyo3(get)]
    range: (f64, f64),
    /// Number of segments of the parameter's range, each with its own function.
    #[pyo3(get)]
    segments: usize,
    /// Symmetric mean absolute percentage error, as a fraction.
    #[pyo3(get)]
    error: f64,
    /// Symmetric mean absolute percentage error for points that were not part of the fit, as a
    /// fraction; `None` without such points.
    #[pyo3(get)]
    held_out: Option<f64>,
    /// Kernel calls whose time is computed with the model.
    #[pyo3(get)]
    calls: Vec<String>,
}

#[pymethods]
impl Model {
    /// Returns the nanoseconds at a value of the parameter; `None` if the model has no value.
    fn at(&self, value: f64) -> Option<f64> {
        self.target.models().get(&self.name)?.at(value)
    }
}

/// Returns all models of a target, ordered by name.
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
