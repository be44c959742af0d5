//! Represents paths by their sequences of instructions with dependences. Estimates the time of a
//! path with a target's model of a CPU core.

use std::sync::Arc;

use pyo3::prelude::*;
use slowpath_estimate::Occupancy;

use crate::errors::Error;
use crate::measure::Case;
use crate::target::Target;

/// The instructions of a path in order, with the properties that a time estimate needs.
#[pyclass(frozen, module = "slowpath._core")]
pub struct Flow {
    inner: Arc<slowpath_estimate::Path>,
}

#[pymethods]
impl Flow {
    /// Reads a path from JSON text, as written by `text`.
    ///
    /// # Errors
    /// If the text is invalid.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let path = slowpath_estimate::Path::from_json(text).map_err(Error::new_err)?;
        Ok(Flow { inner: Arc::new(path) })
    }

    /// Returns the path as JSON text.
    fn text(&self) -> String {
        self.inner.to_json()
    }

    /// The calls of kernel functions on the path. Each has the name of the helper with the type of
    /// its map, the number of processed bytes, and true if the call returns 0 (`None` if unknown).
    #[getter]
    fn calls(&self) -> Vec<(String, u32, Option<bool>)> {
        let calls = self.inner.calls().iter();
        calls.map(|call| (call.name.clone(), call.bytes, call.zero)).collect()
    }

    /// Number of instructions.
    #[getter]
    fn instructions(&self) -> usize {
        self.inner.len()
    }
}

/// Returns the instructions that a measured case executes; `None` if they are unknown.
#[pyfunction]
pub fn flow(case: &Case) -> Option<Flow> {
    case.inner.flow().cloned().map(|inner| Flow { inner })
}

/// Estimates the time of each path on a target, in nanoseconds. The time is that of one iteration
/// of the loop in which the kernel runs a program for tests. Each map has `entries` entries, at
/// most its capacity; with 0, as many as the path needs. Packets access `bytes` bytes of map
/// elements; `None` stands for all of them.
///
/// # Errors
/// If the target has no time estimates.
#[pyfunction]
#[pyo3(signature = (flows, target, entries = 0, bytes = None))]
pub fn nanoseconds(
    py: Python<'_>,
    flows: Vec<PyRef<'_, Flow>>,
    target: &Target,
    entries: u64,
    bytes: Option<u64>,
) -> PyResult<Vec<f64>> {
    let target =
        target.shared().description().map_err(|error| Error::new_err(error.to_string()))?;
    let Some(timing) = target.timing else {
        return Err(Error::new_err(format!("target {} estimates nothing", target.name)));
    };
    let paths: Vec<Arc<slowpath_estimate::Path>> =
        flows.iter().map(|flow| flow.inner.clone()).collect();
    drop(flows);
    let occupancy = match entries {
        0 => Occupancy::Few,
        _ => Occupancy::Entries(entries),
    };
    let time = |path: &Arc<slowpath_estimate::Path>| {
        let all = path.footprint(occupancy);
        let flow = path.time_within(&timing, occupancy, bytes.map_or(all, |bytes| bytes.min(all)));
        timing.picoseconds(flow.iteration) as f64 / 1000.0
    };
    Ok(py.detach(|| paths.iter().map(time).collect()))
}
