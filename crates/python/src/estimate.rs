//! Paths as a core sees them, and what targets estimate that they take.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::errors::Error;
use crate::measure::Case;
use crate::target::Target;

/// The instructions of a path in order, with what is known of each.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Flow {
    inner: Arc<slowpath_estimate::Path>,
}

#[pymethods]
impl Flow {
    /// The path that `text` was written for.
    ///
    /// # Errors
    /// When it is none.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let path = slowpath_estimate::Path::from_json(text).map_err(Error::new_err)?;
        Ok(Flow { inner: Arc::new(path) })
    }

    /// The path as JSON.
    fn text(&self) -> String {
        self.inner.to_json()
    }

    /// Of each call of the kernel: helper and type of map, bytes that it works on, whether it returns 0.
    #[getter]
    fn calls(&self) -> Vec<(String, u32, Option<bool>)> {
        let calls = self.inner.calls().iter();
        calls.map(|call| (call.name.clone(), call.bytes, call.zero)).collect()
    }

    /// How many instructions it has.
    #[getter]
    fn instructions(&self) -> usize {
        self.inner.len()
    }
}

/// The path of a case as a core sees it; `None` where it is not known.
#[pyfunction]
pub fn flow(case: &Case) -> Option<Flow> {
    case.inner.flow().cloned().map(|inner| Flow { inner })
}

/// Estimates each path on a target: nanoseconds of the kernel's loop with it, with
/// so many entries in each map; 0: those that a path needs.
///
/// # Errors
/// When the target does not estimate.
#[pyfunction]
#[pyo3(signature = (flows, target, entries = 1))]
pub fn nanoseconds(
    py: Python<'_>,
    flows: Vec<PyRef<'_, Flow>>,
    target: &Target,
    entries: u64,
) -> PyResult<Vec<f64>> {
    let target =
        target.shared().description().map_err(|error| Error::new_err(error.to_string()))?;
    let Some(timing) = target.timing else {
        return Err(Error::new_err(format!("target {} estimates nothing", target.name)));
    };
    let paths: Vec<Arc<slowpath_estimate::Path>> =
        flows.iter().map(|flow| flow.inner.clone()).collect();
    drop(flows);
    let time = |path: &Arc<slowpath_estimate::Path>| {
        timing.picoseconds(path.time(&timing, entries).turn) as f64 / 1000.0
    };
    Ok(py.detach(|| paths.iter().map(time).collect()))
}
